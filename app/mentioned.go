package app

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/agent"
)

// pathPattern finds what looks like a path that does not begin in the workspace.
var pathPattern = regexp.MustCompile(`(?:^|[\p{Han}\s"'` + "`" + `(<=:，、：“「（])((?:/|~/|(?:\.\./)+)[^\s"'` + "`" + `()<>，。；：！？、”」）]+)`)

// maxMentioned bounds how many such paths a task can name.
const maxMentioned = 5

// mentioned returns the paths that a goal names and that are not among the listed files. The model is offered the listed files only, so that it would
// take another of them for one that lies elsewhere; the tool that gets the path says whether it may be read. A text such as /api/orders
// is no path: nothing on this machine begins with its first name.
func mentioned(goal string, files []agent.File) []string {
	var out []string
	for _, match := range pathPattern.FindAllStringSubmatch(goal, -1) {
		path := strings.TrimRight(withoutSentence(match[1]), ".,;:!?*")
		if len(out) == maxMentioned || slices.Contains(out, path) || !beginsSomewhere(path) {
			continue
		}
		if !slices.ContainsFunc(files, func(f agent.File) bool { return f.Path == path }) {
			out = append(out, path)
		}
	}
	return out
}

// withoutSentence cuts off what follows a path without a blank in a language that writes none, unless the path has it.
func withoutSentence(path string) string {
	at := strings.IndexFunc(path, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	if at < 0 {
		return path
	}
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	return path[:at]
}

func beginsSomewhere(path string) bool {
	if !filepath.IsAbs(path) {
		return strings.Trim(path, "./~") != ""
	}
	first, _, _ := strings.Cut(filepath.ToSlash(path)[1:], "/")
	if first == "" {
		return false
	}
	_, err := os.Lstat(string(filepath.Separator) + first)
	return err == nil
}
