package main

import (
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/internal/human"
)

// formatBytes writes a size in the unit that leaves one to four digits: 980 B, 1.2 MB, 1.12 GB. Units are powers of 1000.
func formatBytes(n int64) string { return human.Bytes(n) }

// formatCount writes large numbers short: 512, 32k, 128k.
func formatCount(n int) string {
	if n >= 1024 && n%1024 == 0 {
		return fmt.Sprintf("%dk", n/1024)
	}
	return fmt.Sprint(n)
}

// formatDuration writes a short time with two digits that matter: 12 ms, 1.3 s, 2m05s.
func formatDuration(d time.Duration) string { return human.Duration(d) }

// formatAge writes how long ago t was, roughly: now, 5 min, 3 h, 12 d.
func formatAge(t, now time.Time) string { return human.Age(t, now) }

// plural writes a number with its noun: 1 model call, 2 model calls.
func plural(n int, noun string) string { return human.Plural(n, noun) }
