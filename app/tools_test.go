package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/tools"
)

func TestLogToolsUseTheirOwnSettings(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	c := configure(t, "tools.log.allowed_roots="+logs, "tools.log.max_matches=1", "tools.log.max_window_lines=3")
	write(t, filepath.Join(logs, "app.log"), "ERROR one\nERROR two\nINFO three\nINFO four\nINFO five\n")
	registry, err := Tools(c, Stores{}, nil)
	require.NoError(t, err)
	log := filepath.Join(logs, "app.log")
	call := func(tool, args string) tools.Result {
		result, err := registry.Call(t.Context(), tool, []byte(`{"log_path":"`+log+`"`+args+`}`))
		require.NoError(t, err)
		return result
	}
	require.Len(t, call("search_log", `,"query":"ERROR"`).Data.(tools.LogSearchResult).Matches, 1)
	require.Equal(t, 1, call("aggregate_log_errors", "").Data.(tools.LogSummary).MorePatterns)
	require.Len(t, call("get_log_window", `,"line_number":3,"before":4,"after":4`).Data.(tools.LogWindow).Lines, 3)
	_, err = registry.Call(t.Context(), "read_file", []byte(`{"file_path":"`+log+`"}`))
	require.Error(t, err, "the other families keep their own folders")
}

func TestLogToolsHaveTheTimeLimitOfTheirFamily(t *testing.T) {
	t.Parallel()
	c := configure(t, "tools.timeout_seconds=1", "tools.log.timeout_seconds=60")
	registry, err := Tools(c, Stores{}, nil)
	require.NoError(t, err)
	tool, ok := registry.Lookup("search_log")
	require.True(t, ok)
	limited, ok := tool.(timedTool)
	require.True(t, ok)
	require.Equal(t, time.Minute, limited.limit)
}
