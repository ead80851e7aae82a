// Package human writes numbers as people read them. It knows nothing of what they count.
package human

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes writes a size in the unit that leaves one to four digits: 980 B, 1.2 MB, 1.12 GB. Units are powers of 1000.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	}
}

// Duration writes a short time with two digits that matter: 12 ms, 1.3 s, 2m05s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}

// Age writes how long ago t was, roughly: now, 5 min, 3 h, 12 d.
func Age(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	}
}

// Plural writes a number with its noun: 1 model call, 2 model calls.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", Count(n), noun)
}

// Count writes a number with its thousands apart: 980, 12,345.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	out := ""
	for len(digits) > 3 {
		out = "," + digits[len(digits)-3:] + out
		digits = digits[:len(digits)-3]
	}
	return sign + digits + out
}

// Left estimates how long the rest of some work takes, of which done of total parts are done, the last done-from of them in a time:
// "about 12 s left". It is empty when that can't be told or is less than a second.
func Left(from, done, total int, passed time.Duration) string {
	if done <= from || done >= total || passed <= 0 {
		return ""
	}
	left := time.Duration(float64(passed) / float64(done-from) * float64(total-done))
	switch seconds := int(left.Round(time.Second) / time.Second); {
	case seconds >= 60:
		return "about " + Duration(left) + " left"
	case seconds > 0:
		return fmt.Sprintf("about %d s left", seconds)
	}
	return ""
}
