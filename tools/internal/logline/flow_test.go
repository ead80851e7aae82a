package logline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// roles writes a letter for each line: R record, c continues, - unparsed, _ blank.
func roles(log string) string {
	var flow Flow
	var out strings.Builder
	for _, line := range strings.Split(log, "\n") {
		l := Parse([]byte(line))
		out.WriteByte("-Rc_"[flow.Next([]byte(line), &l)])
	}
	return out.String()
}

func TestStackTracesBelongToTheLineBefore(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ log, want string }{
		"jvm": {`2026-01-05 10:00:00 ERROR boom
java.io.IOException: broken pipe
	at a.B.c(B.java:1)
	... 12 more
Caused by: java.net.SocketException
	at a.D.e(D.java:2)
2026-01-05 10:00:01 INFO on`, "RcccccR"},
		"python": {`2026-01-05 10:00:00,1 ERROR boom
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    foo()
ValueError: bad

During handling of the above exception, another exception occurred:
2026-01-05 10:00:01,1 INFO on`, "Rcccc_cR"},
		"go": {`2026/01/05 10:00:00 ERROR boom
panic: runtime error: index out of range
goroutine 1 [running]:
main.run(0x1)
	/src/main.go:12 +0x1d
main.main()
	/src/main.go:5 +0x2
exit status 2`, "Rccccccc"},
		"node":                 {"2026-01-05 10:00:00 error boom\nError: no such file\n    at Object.open (fs.js:1)\n2026-01-05 10:00:01 info on", "RccR"},
		"an object over lines": {"2026-01-05 10:00:00 INFO got\n{\n  \"a\": 1\n}\n2026-01-05 10:00:01 INFO on", "RcccR"},
		"junk is not hidden":   {"2026-01-05 10:00:00 INFO a\nsome words\nsome more\n2026-01-05 10:00:01 INFO b", "R--R"},
		"junk after a trace":   {"2026-01-05 10:00:00 ERROR a\n\tat b\nsome words", "Rc-"},
		"nothing to continue":  {"\tat a.B.c(B.java:1)\nCaused by: x\n\nERROR y", "--_R"},
		"a weak level alone":   {"error: no such file\n  at line 1\nerror: again", "Rcc"},
		"no log":               {"one\ntwo\n\nthree", "--_-"},
	} {
		require.Equal(t, tc.want, roles(tc.log), name)
	}
}
