package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// entries reads all entries of an input: each is its text, or "error: " and the reason.
func entries(t *testing.T, in io.Reader, limit int) (list []string, broken error) {
	t.Helper()
	b := entryBuilder{limit: limit}
	take := func() {
		entry, err := b.take()
		if err != nil {
			entry = "error: " + err.Error()
		}
		list = append(list, entry)
	}
	for line := range readLines(t.Context(), in, limit) {
		if line.broken != nil {
			return list, line.broken
		}
		if b.add(line) {
			take()
		}
	}
	if b.pending() {
		take()
	}
	return list, nil
}

func TestEntriesOfAnInput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for in, want := range map[string][]string{
		"":                          nil,
		"one":                       {"one"},
		"one\n":                     {"one"},
		"one\n\ntwo":                {"one", "", "two"},
		"\ufeffone\r\ntwo\r\n":      {"one", "two"},
		"one\n\ufefftwo\n":          {"one", "\ufefftwo"},
		"a\\\nb\\\r\n\nc\n":         {"a\nb\n", "c"},
		"a\\\n\\\nb":                {"a\n\nb"},
		"a\\":                       {"a"},
		"\\\n":                      {""},
		`C:\dir\\` + "\nnext":       {`C:\dir\\`, "next"},
		"a\\\\\\\nb":                {"a\\\\\nb"},
		"a\x00\nb":                  {"error: line 1 is left out: it has a NUL character, which text has not; input must be UTF-8", "b"},
		"a\n\xffb\nc":               {"a", "error: line 2 is left out: it is not UTF-8 text", "c"},
		"a\\\n\xff\\\nb\nc":         {"error: line 2 and those that belong to it are left out: it is not UTF-8 text", "c"},
		"\xff\\\n\xff\\\n\xff\nc":   {"error: line 1 and those that belong to it are left out: it is not UTF-8 text", "c"},
		long + "\n" + long + "\r\n": {long, long},
		long + "x\nnext":            {"error: line 1 is left out: it is longer than 100 bytes", "next"},
		long + long + "\\\nb\nc":    {"error: line 1 and those that belong to it are left out: it is longer than 100 bytes", "c"},
		long + "\\\n" + "b\nc":      {"error: line 1 and those that belong to it are left out: it is longer than 100 bytes", "c"},
		"a\\\n" + long + "\nc":      {"error: the lines from 1 on are left out: together they are longer than 100 bytes", "c"},
	} {
		got, err := entries(t, strings.NewReader(in), 100)
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", in)
		got, err = entries(t, iotest.OneByteReader(strings.NewReader(in)), 100)
		require.NoError(t, err)
		require.Equal(t, want, got, "%q byte by byte", in)
	}
}

func TestALineLongerThanTheBuffer(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("x", 1<<20)
	got, err := entries(t, strings.NewReader(whole+"\n"+whole+"y\nnext\n"), 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{whole, "error: line 2 is left out: it is longer than 1048576 bytes", "next"}, got)
}

func TestAnInputThatBreaks(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	got, err := entries(t, io.MultiReader(strings.NewReader("one\ntw"), iotest.ErrReader(gone)), 100)
	require.ErrorIs(t, err, gone)
	require.Equal(t, []string{"one"}, got)
}

// Whatever comes in: entries are bounded text, and a line that stands alone and is in order arrives as it is.
func FuzzEntries(f *testing.F) {
	for _, in := range []string{"one\ntwo", "a\\\nb", "\\\\\\\n", "\ufeff\r\n\x00\xff", strings.Repeat("x", 70) + "\\\n\\", "\r\r\n"} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 64
		got, err := entries(t, bytes.NewReader(in), limit)
		require.NoError(t, err)
		require.LessOrEqual(t, len(got), bytes.Count(in, []byte("\n"))+1)
		for _, entry := range got {
			if strings.HasPrefix(entry, "error: ") {
				continue
			}
			require.LessOrEqual(t, len(entry), limit)
			require.True(t, utf8.ValidString(entry))
			require.NotContains(t, entry, "\x00")
		}
		if line := string(in); len(in) > 0 && len(in) <= limit && utf8.Valid(in) && !strings.ContainsAny(line, "\n\r\\\x00\ufeff") {
			require.Equal(t, []string{line}, got)
		}
	})
}
