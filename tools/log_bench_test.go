package tools

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeBenchLog writes about size bytes of a log as a service writes it: a fortieth of the records are errors, some with a
// stack trace, and a twentieth warnings.
func writeBenchLog(tb testing.TB, path string, size int, asJSON bool) {
	tb.Helper()
	f, err := os.Create(path)
	require.NoError(tb, err)
	out := bufio.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 2))
	for line, written := 0, 0; written < size; line++ {
		level, message := "INFO", fmt.Sprintf("Order %d accepted with %d items path=/api/orders/%d", random.IntN(1e6), random.IntN(99), line)
		switch n := random.IntN(1000); {
		case n < 25:
			level, message = "ERROR", fmt.Sprintf("Connection to 10.0.%d.17:5432 timed out after %d ms code=E%d node=n-%d", n, random.IntN(9000), n%5, n%12)
		case n < 75:
			level, message = "WARN", fmt.Sprintf("Slow query took %d ms node=n-%d", random.IntN(9000), n%12)
		case n < 300:
			level, message = "DEBUG", fmt.Sprintf("Cache refreshed: %d entries in %d ms", random.IntN(1e6), random.IntN(900))
		}
		format := "2026-01-05 %02d:%02d:%02d,%03d %-5s [worker-%d] com.shop.order.OrderService - %s\n"
		if asJSON {
			format = `{"time":"2026-01-05T%02d:%02d:%02d.%03dZ","level":"%s","worker":%d,"msg":"%s"}` + "\n"
		}
		n, err := fmt.Fprintf(out, format, line/360_000%24, line/6000%60, line/100%60, line%1000, level, line%16, message)
		require.NoError(tb, err)
		written += n
		if level == "ERROR" && line%4 == 0 && !asJSON {
			n, err = out.WriteString("java.io.IOException: broken pipe\n\tat com.shop.db.Pool.take(Pool.java:12)\n\tat com.shop.Order.save(Order.java:88)\n")
			require.NoError(tb, err)
			written += n
		}
	}
	require.NoError(tb, out.Flush())
	require.NoError(tb, f.Close())
}

// BenchmarkLogs compares the log tools with the least that any search has to do: read the file and count a pattern in
// it. Read MB/s against those of the baseline.
func BenchmarkLogs(b *testing.B) {
	dir := b.TempDir()
	writeBenchLog(b, filepath.Join(dir, "text.log"), 128<<20, false)
	writeBenchLog(b, filepath.Join(dir, "json.log"), 128<<20, true)
	r, err := NewRegistry(Logs(LogOptions{Workspace: dir})...)
	require.NoError(b, err)
	for _, log := range []string{"text", "json"} {
		path := filepath.Join(dir, log+".log")
		info, err := os.Stat(path)
		require.NoError(b, err)
		run := func(name string, work func() error) {
			b.Run(name+"/"+log, func(b *testing.B) {
				b.SetBytes(info.Size())
				for b.Loop() {
					require.NoError(b, work())
				}
			})
		}
		tool := func(name, args string) func() error {
			return func() error {
				_, err := r.Call(b.Context(), name, fmt.Appendf(nil, `{"log_path":"%s.log"%s}`, log, args))
				return err
			}
		}
		run("baseline", func() error { return countPattern(path, "ERROR") })
		run("search", tool("search_log", `,"query":"ERROR"`))
		run("search-level", tool("search_log", `,"level":"error"`))
		run("aggregate", tool("aggregate_log_errors", ""))
		run("window", tool("get_log_window", `,"line_number":500000`))
	}
}

// countPattern reads a file and counts a pattern and the lines, without looking at what is where.
func countPattern(path, pattern string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, logChunkBytes)
	found := 0
	for {
		n, err := f.Read(buf)
		found += bytes.Count(buf[:n], []byte(pattern)) + bytes.Count(buf[:n], newline)
		if errors.Is(err, io.EOF) && found > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// TestLargeLogsUseLittleMemory reads a log much larger than the memory it may take.
func TestLargeLogsUseLittleMemory(t *testing.T) {
	dir := t.TempDir()
	const size = 64 << 20
	writeBenchLog(t, filepath.Join(dir, "app.log"), size, false)
	r := builtins(t, dir)
	for tool, args := range map[string]map[string]any{
		"aggregate_log_errors": {}, "search_log": {"query": "timed out", "since": "1h"}, "get_log_window": {"line_number": 400_000},
	} {
		args["log_path"] = "app.log"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text := mustCall(t, r, tool, args).Text
		runtime.ReadMemStats(&after)
		require.NotEmpty(t, text)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/4), "%s allocated for a log of %d bytes", tool, size)
	}
}
