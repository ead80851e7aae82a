package logline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJSONRecordsAreWrittenAsText(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"time":"2026-01-05T10:04:11Z","level":"error","msg":"disk \"full\"","code":"E42","node":"n 3","n":5,"tags":["a","b"]}`: `2026-01-05T10:04:11Z ERROR disk "full" code=E42 node="n 3" n=5 tags=["a","b"]`,
		`{"msg":"only"}`:                                           "only",
		`{"level":"error","error":"no message"}`:                   `ERROR no message`,
		`{"level":"error","code":1}`:                               `{"level":"error","code":1}`,
		`{"level":"odd","msg":"a","empty":""}`:                     `a level=odd empty=""`,
		`{"t":{"$date":"2026-01-05T10:04:11Z"},"s":"E","msg":"m"}`: `2026-01-05T10:04:11Z ERROR m`,
		`{"broken`: `{"broken`,
		"text":     "text",
	} {
		require.Equal(t, want, Readable([]byte(line)))
	}
}
