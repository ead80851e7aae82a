package tools

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// An ignoreRule is one line of a .gitignore file. The rules follow gitignore(5); the library go-gitignore is not used
// because it takes ? literally, does not anchor patterns that contain a slash, and drops lines with brackets it cannot
// compile.
type ignoreRule struct {
	pattern string // for doublestar, relative to the folder of the file
	negate  bool
	dirOnly bool
}

// parseIgnore reads the lines of an ignore file. Lines that are no valid pattern are skipped, as git does.
func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(text) {
		if rule, ok := parseIgnoreLine(strings.TrimRight(line, "\r\n")); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

func parseIgnoreLine(line string) (ignoreRule, bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = strings.TrimSuffix(line, " ")
	}
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	var rule ignoreRule
	line, rule.negate = strings.CutPrefix(line, "!")
	line, rule.dirOnly = strings.CutSuffix(line, "/")
	line, anchored := strings.CutPrefix(line, "/")
	if !anchored && !strings.Contains(line, "/") {
		line = "**/" + line
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // everything inside, but not the folder itself
	}
	rule.pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	return rule, rule.pattern != "" && doublestar.ValidatePattern(rule.pattern)
}

// An ignoreFile holds the rules of one folder.
type ignoreFile struct {
	dir   string // path of the folder below the walk's root, "" for the root itself
	rules []ignoreRule
}

// isIgnored decides for a path below the root, given the ignore files from the root down to the path's folder. The last
// rule that matches wins. The caller does not descend into an ignored folder, so nothing inside can be included again.
func isIgnored(files []ignoreFile, path string, dir bool) bool {
	ignored := false
	for _, file := range files {
		rel := path
		if file.dir != "" {
			rel = strings.TrimPrefix(path, file.dir+"/")
		}
		for _, rule := range file.rules {
			if rule.dirOnly && !dir {
				continue
			}
			if ok, err := doublestar.Match(rule.pattern, rel); err == nil && ok {
				ignored = !rule.negate
			}
		}
	}
	return ignored
}
