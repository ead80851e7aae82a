package tools

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// fieldOptions are the options of a program that choose fields, and those that say what separates them.
var fieldOptions = map[string]struct{ choose, separate []string }{
	"sort": {[]string{"-k", "--key"}, []string{"-t", "--field-separator"}},
	"cut":  {[]string{"-f", "--fields"}, []string{"-d", "--delimiter", "-w"}},
}

// fieldsAsSeparated refuses to choose fields of a file by a separator that it does not have: sort and cut would take each line of a table with
// commas for one field, and give an answer that looks right.
func fieldsAsSeparated(c *argChecker, parsed parsedArgs) *Error {
	if problem := c.paths(parsed.operands); problem != nil {
		return problem
	}
	given := func(names []string) bool {
		for _, name := range names {
			if parsed.given[name] {
				return true
			}
		}
		return false
	}
	options := fieldOptions[c.program]
	if !given(options.choose) || given(options.separate) {
		return nil
	}
	for _, path := range parsed.operands {
		if separator := c.w.separator(path); separator != "" {
			return &Error{
				Kind: KindInvalidArguments,
				Message: fmt.Sprintf("the fields of %s are separated by %q, but %s was not told so; nothing was run",
					oneLine(path), separator, c.program),
				Fix: fmt.Sprintf("give %s %s'%s'", c.program, options.separate[0], separator),
			}
		}
	}
	return nil
}

// separator is what separates the fields in the first line of a text file when that is no blank, or "".
func (w *workspace) separator(path string) string {
	t, problem := w.resolve(path)
	if problem != nil || t.info == nil || !t.info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(t.real)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const longest = 4096
	line, _ := bufio.NewReaderSize(f, longest).ReadSlice('\n')
	text := strings.TrimSpace(string(line))
	if strings.ContainsAny(text, " \t") {
		return ""
	}
	best, most := "", 0
	for _, separator := range []string{",", ";", "|"} {
		if n := strings.Count(text, separator); n > most {
			best, most = separator, n
		}
	}
	return best
}
