package telemetry

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a time that moves only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2024, 5, 1, 10, 0, 0, 1000, time.FixedZone("", 2*60*60))}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// told keeps what a recorder tells.
type told struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}

func (t *told) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Split(strings.TrimSuffix(t.out.String(), "\n"), "\n")[:strings.Count(t.out.String(), "\n")]
}

func (t *told) logger() *slog.Logger { return slog.New(slog.NewTextHandler(t, nil)) }

// quiet are options without samples.
func quiet(c *clock, t *told) Options {
	return Options{Model: "small", Clock: c.Now, Logger: t.logger(), SampleInterval: -1}
}

func openIn(t *testing.T, dir string, o Options) *Recorder {
	t.Helper()
	r, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) })
	return r
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o), "%q", line)
		all = append(all, o)
	}
	return all
}

func rows(t *testing.T, text string) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	var named []map[string]string
	for _, fields := range all[1:] {
		m := map[string]string{}
		for i, f := range fields {
			m[all[0][i]] = f
		}
		named = append(named, m)
	}
	return named
}
