package logline

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var fuzzSeeds = []string{
	"2026-01-05 10:04:11,120 ERROR [worker-3] com.shop.Db - gone code=E42 node=n-3", "2026-01-05T10:04:11.5+03:00 warn x",
	"<165>1 2003-10-11T22:14:15.003Z host app - ID47 - up", "Jan  5 10:04:11 host app[42]: boom", "E0105 10:04:11.120000   12 pod.go:56] crashed",
	`127.0.0.1 - - [05/Jan/2026:10:04:11 -0700] "GET /a?b=\"c\" HTTP/1.1" 502 23`, `{"t":{"$date":"2026-01-05T10:04:11Z"},"level":"error","msg":"a \"b\" \u00e9\\"}`,
	`time="2026-01-05T10:04:11Z" level=error msg="disk \"full\"" node=n3`, "\x1b[31mERROR\x1b[0m red", "[   12.345678] usb 1-1: x", "\tat a.B.c(B.java:1)",
	"8:M 05 Jan 2026 10:04:11.120 # memory", "01-05 10:04:11.120  1234  5678 E Camera: x", "1767607451.250 ERROR x", "\xff\xfe\x00", `{"code":"`, "ERROR", "[", "<", "{",
	"get https://a.example/x?y=1 at 10.0.3.17:5432 [2001:db8::1] 0xff 123e4567-e89b-12d3-a456-426614174000 'it''s' \"", `C:\a\b /var/x:12 3.14ms -5`,
}

// FuzzParse checks that whatever a line holds, places are in the line, times are times, and nothing is read twice.
func FuzzParse(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := []byte(text)
		l := Parse(line)
		require.Equal(t, text, string(line), "the line was changed")
		require.Equal(t, l, Parse(line))
		require.Less(t, int(l.Level), Levels)
		require.True(t, 0 <= l.Message && l.MessageEnd <= len(line))
		if l.Form == Unknown {
			require.Equal(t, Line{}, l)
		}
		if l.Stamp.End > 0 {
			require.True(t, 0 <= l.Stamp.At && l.Stamp.At < l.Stamp.End && l.Stamp.End <= len(line))
		}
		if l.Stamp.Known() {
			s := l.Stamp.Complete(time.Unix(1_767_607_451, 0))
			require.True(t, s.Nano >= 0 && s.Nano < 1e9)
			if s.Sec() > -62135596800 && s.Sec() < 253402300800 { // of which the year has four digits
				again := stampAt([]byte(s.String()), 0)
				require.Equal(t, s.String(), again.String())
			}
		}
		l.MessageText(line)
		Readable(line)
		var flow Flow
		flow.Next(line, &l)
		flow.Next(line, &l)
		for _, scan := range []FieldScan{ScanPairs(line), ScanKeys(line)} {
			for last := -1; ; {
				_, value, ok := scan.Next()
				if !ok {
					break
				}
				require.NotEmpty(t, value)
				require.LessOrEqual(t, len(value), maxFieldValue)
				require.Greater(t, scan.At(), last, "no progress")
				last = scan.At()
			}
		}
	})
}

// FuzzMask checks that masking leaves no number behind but the value of a code, and gives messages that differ only in a
// number the same mask.
func FuzzMask(f *testing.F) {
	for _, seed := range fuzzSeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		masked := Mask(nil, []byte(text))
		require.Equal(t, string(masked), string(Mask([]byte{}, []byte(text))))
		require.LessOrEqual(t, len(masked), len("<n>")*len(text)+len(maskUUID))
		if !bytes.Contains(masked, []byte("code=")) {
			require.False(t, bytes.ContainsAny(masked, "0123456789"), "%q", masked)
		}
		if !bytes.ContainsAny([]byte(text), "0123456789") && len(text) > 0 && text[len(text)-1] == ' ' {
			require.Equal(t, string(Mask(nil, []byte(text+"17"))), string(Mask(nil, []byte(text+"4"))))
		}
	})
}

// FuzzBound checks that what is understood as a time is shown as one that is understood the same.
func FuzzBound(f *testing.F) {
	for _, seed := range []string{"2026-01-05 10:00", "10:00:30", "1h30m", "2 days ago", "the last hour", "today", "1767607451", "Jan  4 10:00:00", "2026-01-05T10:00+03:00", "-0.5h", "1e9d"} {
		f.Add(seed)
	}
	last := stampAt([]byte("2026-01-05T18:22:10.5+03:00"), 0)
	f.Fuzz(func(t *testing.T, text string) {
		for _, end := range []bool{false, true} {
			bound, ok := ParseBound(text, end, last)
			if !ok {
				continue
			}
			again, ok := ParseBound(bound.String(), end, last)
			require.True(t, ok, "%q became %q", text, bound)
			require.Equal(t, bound.String(), again.String())
		}
	})
}
