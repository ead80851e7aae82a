package app

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const hostile = "a\x1b]52;c;aGk=\x07b\x1b[2Jc\u009bd\u202ee\rf\r\ng\x7f世界\xff\U000E0041"

func TestInertWriterGivesTheSameForAllSplits(t *testing.T) {
	t.Parallel()
	want := Inert(hostile)
	require.NotContains(t, want, "\x1b")
	for size := 1; size <= len(hostile); size++ {
		var out bytes.Buffer
		w := NewInertWriter(&out)
		for rest := []byte(hostile); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			n, err := w.Write(rest[:min(size, len(rest))])
			require.NoError(t, err)
			require.Equal(t, min(size, len(rest)), n)
		}
		require.NoError(t, w.Flush())
		require.Equal(t, want, out.String(), "in pieces of %d bytes", size)
	}
}

func TestInertWriterShowsAnUnfinishedEnd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewInertWriter(&out)
	_, err := w.Write([]byte("x\xe4\xb8"))
	require.NoError(t, err)
	require.Equal(t, "x", out.String())
	require.NoError(t, w.Flush())
	require.Equal(t, `x\xE4\xB8`, out.String())
}

func TestInertJSONMeansTheSame(t *testing.T) {
	t.Parallel()
	in := map[string]string{"<k>": hostile[:len(hostile)-5] + "\U000E0041\U0001F600"}
	line, err := InertJSON(in)
	require.NoError(t, err)
	require.Equal(t, byte('\n'), line[len(line)-1])
	text := string(line[:len(line)-1])
	require.Equal(t, Inert(text), text)
	require.NotContains(t, text, "\u009b")
	require.Contains(t, text, "<k>")
	require.Contains(t, text, "\U0001F600")
	var out map[string]string
	require.NoError(t, json.Unmarshal(line, &out))
	require.Equal(t, in["<k>"], out["<k>"])
}

func FuzzInertWriter(f *testing.F) {
	f.Add([]byte(hostile), 3)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 || size > len(data) {
			t.Skip()
		}
		var out bytes.Buffer
		w := NewInertWriter(&out)
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, _ = w.Write(rest[:min(size, len(rest))])
		}
		_ = w.Flush()
		require.Equal(t, Inert(string(data)), out.String())
	})
}
