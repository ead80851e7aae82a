package benchmark

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var promptsPath = flag.String("prompts", "", "TestCases: file for all prompts and replies")

// promptLog is a log that keeps the prompts and replies of a test as they are, when that is asked for.
func promptLog(t *testing.T) *slog.Logger {
	t.Helper()
	if *promptsPath == "" {
		return nil
	}
	f, err := os.OpenFile(*promptsPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return slog.New(plainHandler{f})
}

// plainHandler writes what is logged without any quoting, for people.
type plainHandler struct{ w io.Writer }

func (plainHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h plainHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h plainHandler) WithGroup(string) slog.Handler          { return h }
func (h plainHandler) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintf(h.w, "======== %s\n", r.Message)
	r.Attrs(func(a slog.Attr) bool {
		_, err = fmt.Fprintf(h.w, "---- %s\n%v\n", a.Key, a.Value)
		return err == nil
	})
	return err
}
