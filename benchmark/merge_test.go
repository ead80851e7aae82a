package benchmark

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var someLabel = label{"a,b", `R"1`, 3} // no case is named like this; rows are rows nevertheless

func TestLabelledLines(t *testing.T) {
	t.Parallel()
	const head = `{"case_id":"a,b","round":"R\"1","repetition":3,`
	for text, want := range map[string]string{
		"":                        "",
		`{"x":1}` + "\n":          head + `"x":1}` + "\n",
		`{"x":1}`:                 "", // not whole
		"{}\n[1]\nnull\n\n{\"x\n": "",
		`{"x":1}` + "\n" + `{"x` + "\n" + `{"y":2}` + "\r\n" + `{"z`: head + `"x":1}` + "\n" + head + `"y":2}` + "\n",
		`{"x":1,"round":2,"case_id":null}` + "\n":                    head + `"data_case_id":null,"data_round":2,"x":1}` + "\n",
		`{"Round":7}` + "\n":                                         head + `"data_Round":7}` + "\n",
		`{"case_id":null}` + "\n":                                    head + `"data_case_id":null}` + "\n",
	} {
		require.Equal(t, want, string(labelledLines(someLabel, []byte(text))), text)
	}
}

func TestLabelledRows(t *testing.T) {
	t.Parallel()
	const head, cells = "case_id,round,repetition,x,y\n", `"a,b","R""1",3,`
	have := []string{"case_id", "round", "repetition", "y", "z"}
	for _, test := range []struct {
		text string
		have []string
		want string
	}{
		{"", nil, ""},
		{"x,y", nil, ""},
		{"x,y\n", nil, head},
		{"x,y\n1,2\n", nil, head + cells + "1,2\n"},
		{"x,y\n1,2\n3,4", nil, head + cells + "1,2\n"},
		{"x,y\n1,\"open\n\n3\n3,4\nx,y\n\"5,\",6\n", nil, head + cells + "3,4\n" + cells + "\"5,\",6\n"},
		{"x,y\n1,2\n", have, cells + "2,\n"},
	} {
		require.Equal(t, test.want, string(labelledRows(someLabel, []byte(test.text), test.have)), test.text)
	}
}

func FuzzLabelled(f *testing.F) {
	f.Add("{\"x\":1}\n{\"round\":\n")
	f.Add("x,y\n1,\"\n2,3\n")
	f.Fuzz(func(t *testing.T, text string) {
		of := label{"a", "R1", 2}
		for line := range strings.Lines(string(labelledLines(of, []byte(text)))) {
			require.True(t, json.Valid([]byte(line)), "%q", line)
			got, ok := jsonLabel([]byte(line))
			require.True(t, ok)
			require.Equal(t, of, got)
		}
		rows := string(labelledRows(of, []byte(text), []string{"case_id", "round", "repetition", "x", "y"}))
		for line := range strings.Lines(rows) {
			got, ok := csvLabel([]byte(line))
			require.True(t, ok, "%q", line)
			require.Equal(t, of, got)
		}
	})
}

func TestForeignHeaderIsTold(t *testing.T) {
	t.Parallel()
	f, telemetry := folder{path: t.TempDir()}, t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(telemetry, kvSource), []byte("x\n1\n"), 0o600))
	entries, err := f.records(someLabel, filepath.Join(telemetry, "none"))
	require.NoError(t, err)
	require.Empty(t, entries, "a program that records nothing can be measured")
	entries, err = f.records(someLabel, telemetry)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	for text, why := range map[string]string{"x,y\n": "its first columns are not case_id, round, repetition", "case_id,": "EOF", "\"x\n": "quote"} {
		require.NoError(t, os.WriteFile(f.join(kvSource), []byte(text), 0o600))
		_, err = f.records(someLabel, telemetry)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, kvSource)
	}
}
