package config

import (
	"slices"
	"strconv"
	"strings"
)

// environ holds environment variables, sorted by name; where a name comes twice, the last one counts.
type environ []variable

type variable struct{ name, value string }

func environment(entries []string) environ {
	byName := map[string]string{}
	for _, e := range entries {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			byName[name] = value
		}
	}
	env := make(environ, 0, len(byName))
	for name, value := range byName {
		env = append(env, variable{name, value})
	}
	slices.SortFunc(env, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	return env
}

func (e environ) get(name string) string {
	for _, v := range e {
		if v.name == name {
			return v.value
		}
	}
	return ""
}

// secretNames are parts of the names of variables whose values are not to be recorded.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}

// secrets returns the values of variables that hold secrets by their name.
func (e environ) secrets() []string {
	var out []string
	for _, v := range e {
		name := strings.ToUpper(v.name)
		if v.value != "" && slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) }) {
			out = append(out, v.value)
		}
	}
	return out
}

// Color reports whether environ allows coloured output: NO_COLOR is empty or not set, and the terminal is not a dumb one.
func Color(entries []string) bool {
	e := environment(entries)
	return e.get("NO_COLOR") == "" && e.get("TERM") != "dumb"
}

// Backdrop is what is behind the text of a terminal.
type Backdrop uint8

// The backdrops.
const (
	BackgroundUnknown Backdrop = iota
	BackgroundDark
	BackgroundLight
)

// Background tells the background of the terminal from COLORFGBG, which some terminals set: "foreground;background", or with a word between
// them, as numbers of the sixteen colours. Most terminals tell nothing.
func Background(entries []string) Backdrop {
	colors := strings.Split(environment(entries).get("COLORFGBG"), ";")
	if len(colors) < 2 {
		return BackgroundUnknown
	}
	n, err := strconv.Atoi(colors[len(colors)-1])
	switch {
	case err != nil || n < 0 || n > 15:
		return BackgroundUnknown
	case n == 7 || n >= 9: // white and the bright colours
		return BackgroundLight
	}
	return BackgroundDark
}
