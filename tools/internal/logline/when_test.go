package logline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func stampOf(t *testing.T, text string) Stamp {
	t.Helper()
	s := stampAt([]byte(text), 0)
	require.Equal(t, len(text), s.End, text)
	return s
}

func TestBoundsAreUnderstoodFromTheLogsEnd(t *testing.T) {
	t.Parallel()
	last := stampOf(t, "2026-01-05 18:22:10,500")
	for text, want := range map[string]struct{ since, until string }{
		"2026-01-05 10:00:00":        {"2026-01-05 10:00:00", "2026-01-05 10:00:00"},
		"2026-01-05 10:00":           {"2026-01-05 10:00:00", "2026-01-05 10:00:59"},
		"2026-01-05T10:00":           {"2026-01-05 10:00:00", "2026-01-05 10:00:59"},
		"2026-01-05":                 {"2026-01-05 00:00:00", "2026-01-05 23:59:59"},
		"2026-01-05 10:00:00.250":    {"2026-01-05 10:00:00.25", "2026-01-05 10:00:00.25"},
		"2026-01-05T10:00:00Z":       {"2026-01-05 10:00:00Z", "2026-01-05 10:00:00Z"},
		"2026-01-05T10:00:00+03:00":  {"2026-01-05 10:00:00+03:00", "2026-01-05 10:00:00+03:00"},
		"2026-01-05T10:00+03:00":     {"2026-01-05 10:00:00+03:00", "2026-01-05 10:00:59+03:00"},
		"05/Jan/2026:10:00:00 +0000": {"2026-01-05 10:00:00Z", "2026-01-05 10:00:00Z"},
		"1767607451":                 {"2026-01-05 10:04:11Z", "2026-01-05 10:04:11Z"},
		"Jan  4 10:00:00":            {"2026-01-04 10:00:00", "2026-01-04 10:00:00"},
		"Dec 31 10:00:00":            {"2025-12-31 10:00:00", "2025-12-31 10:00:00"},
		"10:00":                      {"2026-01-05 10:00:00", "2026-01-05 10:00:59"},
		"10:00:30":                   {"2026-01-05 10:00:30", "2026-01-05 10:00:30"},
		"now":                        {"2026-01-05 18:22:10.5", "2026-01-05 18:22:10.5"},
		"today":                      {"2026-01-05 00:00:00", "2026-01-05 23:59:59"},
		" Yesterday ":                {"2026-01-04 00:00:00", "2026-01-04 23:59:59"},
		"10m":                        {"2026-01-05 18:12:10.5", "2026-01-05 18:12:10.5"},
		"-90s":                       {"2026-01-05 18:20:40.5", "2026-01-05 18:20:40.5"},
		"1h30m":                      {"2026-01-05 16:52:10.5", "2026-01-05 16:52:10.5"},
		"10 minutes ago":             {"2026-01-05 18:12:10.5", "2026-01-05 18:12:10.5"},
		"last 2 hours":               {"2026-01-05 16:22:10.5", "2026-01-05 16:22:10.5"},
		"the last hour":              {"2026-01-05 17:22:10.5", "2026-01-05 17:22:10.5"},
		"1 hour and 5 minutes ago":   {"2026-01-05 17:17:10.5", "2026-01-05 17:17:10.5"},
		"2 days":                     {"2026-01-03 18:22:10.5", "2026-01-03 18:22:10.5"},
	} {
		since, ok := ParseBound(text, false, last)
		require.True(t, ok, text)
		require.Equal(t, want.since, since.String(), text)
		until, ok := ParseBound(text, true, last)
		require.True(t, ok, text)
		require.Equal(t, want.until, until.String(), text)
	}
	for _, text := range []string{"", "soon", "10", "-", "ago", "2026-13-01", "25:00", "10x", "1e9h", "2026-01-05 10:00:00 or so"} {
		_, ok := ParseBound(text, false, last)
		require.False(t, ok, text)
	}
	for _, text := range []string{"10m", "today", "10:00", "now", "Jan  4 10:00:00"} {
		_, ok := ParseBound(text, false, Stamp{})
		require.False(t, ok, "%s without a last stamp", text)
	}
	until, _ := ParseBound("10:00", true, last)
	require.Equal(t, `until "10:00" means up to and including 2026-01-05 10:00:59`, until.Describe("until", "10:00"))
}

func TestBoundsAllow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		stamp, bound string
		since, until bool
	}{
		{"2026-01-05 10:00:00", "2026-01-05 10:00:00", true, true},
		{"2026-01-05 10:00:00.999", "2026-01-05 10:00:00", true, true},
		{"2026-01-05 10:00:59,999", "2026-01-05 10:00", true, true},
		{"2026-01-05 10:01:00", "2026-01-05 10:00", true, false},
		{"2026-01-05 09:59:59.999", "2026-01-05 10:00", false, true},
		{"2026-01-05T10:00:00+03:00", "2026-01-05T07:00:00Z", true, true},
		{"2026-01-05T10:00:00+03:00", "2026-01-05T08:00:00Z", false, true},
		{"2026-01-05T10:00:00+03:00", "2026-01-05 10:00:00", true, true}, // the log's own clock
		{"2026-01-05 10:00:00", "2026-01-05T10:00:00Z", true, true},      // taken as UTC
		{"2026-01-05 10:00:00", "2026-01-05T10:00:00+03:00", true, false},
	} {
		s := stampOf(t, tc.stamp)
		since, ok := ParseBound(tc.bound, false, Stamp{})
		require.True(t, ok)
		require.Equal(t, tc.since, since.Allows(s), "%s since %s", tc.stamp, tc.bound)
		until, ok := ParseBound(tc.bound, true, Stamp{})
		require.True(t, ok)
		require.Equal(t, tc.until, until.Allows(s), "%s until %s", tc.stamp, tc.bound)
	}
	zoned := stampOf(t, "2026-01-05T10:00:00+03:00")
	ago, ok := ParseBound("1h", false, zoned)
	require.True(t, ok)
	require.Equal(t, "2026-01-05 09:00:00+03:00", ago.String())
	require.True(t, ago.Allows(stampOf(t, "2026-01-05T06:00:00Z")))
	require.False(t, ago.Allows(stampOf(t, "2026-01-05T05:59:59Z")))
}

func TestStampsAreCompletedFromALaterTime(t *testing.T) {
	t.Parallel()
	near := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"Jan  5 10:04:11":      "2026-01-05 10:04:11",
		"Jan  6 10:04:11":      "2026-01-06 10:04:11", // a clock in another zone
		"Jan  7 10:04:11":      "2025-01-07 10:04:11",
		"Dec 31 23:59:59":      "2025-12-31 23:59:59",
		"10:04:11.5":           "2026-01-05 10:04:11.5",
		"2020-01-05 10:04:11Z": "2020-01-05 10:04:11Z",
	} {
		require.Equal(t, want, stampOf(t, text).Complete(near).String(), text)
	}
}

func TestCivilAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for year := 1900; year <= 2100; year += 7 {
		for month := 1; month <= 12; month++ {
			for day := 1; day <= 31; day++ {
				at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
				valid := at.Day() == day && int(at.Month()) == month
				require.Equal(t, valid, validDate(year, month, day))
				if valid {
					require.Equal(t, at.Unix(), civil(year, month, day))
				}
			}
		}
	}
}
