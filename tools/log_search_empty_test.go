package tools

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const tillLog = `2031-05-06 08:01:00 INFO  till opened code=OPEN
2031-05-06 08:21:49 ERROR code=PRINTER_OFFLINE receipt 4001 not printed
2031-05-06 08:40:10 ERROR code=PRINTER_OFFLINE receipt 4007 not printed
2031-05-06 08:44:00 ERROR code=CARD_DECLINED card ending 11
2031-05-06 09:00:00 INFO  sale booked amount=12
2031-05-06 09:01:00 INFO  sale booked amount=8
`

func TestLogSearchWithoutAMatchSaysWhatMayBeMeant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"till.log": tillLog})
	r := builtins(t, dir)
	search := func(args map[string]any) (LogSearchResult, string) {
		args["log_path"] = "till.log"
		result := mustCall(t, r, "search_log", args)
		return result.Data.(LogSearchResult), result.Text
	}

	found, text := search(map[string]any{"query": "printer is offline"})
	require.Zero(t, found.Total)
	require.True(t, found.Near)
	require.Contains(t, text, "line 2: 2031-05-06 08:21:49 ERROR code=PRINTER_OFFLINE receipt 4001 not printed")
	require.Empty(t, found.Frequent)

	found, text = search(map[string]any{"query": "stalled"})
	require.Empty(t, found.Nearest)
	require.Len(t, found.Frequent, 2)
	require.Contains(t, text, "2 × error, first in line 2: code=PRINTER_OFFLINE receipt 4001 not printed\n1 × error, first in line 4:")

	found, text = search(map[string]any{"query": "code=PRINTER_OFFLINE receipt <n> not printed"})
	require.Equal(t, 2, found.Total, "a message as aggregate_log_errors shows it can be searched for")
	require.Equal(t, "code=PRINTER_OFFLINE receipt", found.Query)
	require.Contains(t, text, "placeholders such as <n> stand in no line")

	for _, args := range []map[string]any{
		{"query": "stalled", "since": "08:30"}, {"query": "sale", "level": "error"}, {"query": "till", "until": "08:00"},
	} {
		found, _ = search(args)
		require.Empty(t, found.Nearest, "%v: the other limits may be why", args)
		require.Empty(t, found.Frequent, "%v", args)
	}
}
