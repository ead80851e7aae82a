package tools

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

// fieldOptions are the options of a program that choose fields, and those that say what separates them.
var fieldOptions = map[string]struct{ choose, separate []string }{
	"sort": {[]string{"-k", "--key"}, []string{"-t", "--field-separator"}},
	"cut":  {[]string{"-f", "--fields"}, []string{"-d", "--delimiter", "-w"}},
}

// separated gives sort and cut the separator of the file that they choose fields of, when its lines have no blank and they are not told one:
// they would take each line of a table with commas for one field, and give an answer that looks right.
func separated(c *argChecker, parsed parsedArgs) (options []string, note string) {
	given := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return parsed.given[name] })
	}
	known := fieldOptions[c.program]
	if !given(known.choose) || given(known.separate) {
		return nil, ""
	}
	for _, path := range parsed.operands {
		if separator := c.w.separator(path); separator != "" {
			option := known.separate[0] + separator
			return []string{option}, fmt.Sprintf("the fields of %s are separated by %q, so %s ran with %s'%s'",
				oneLine(path), separator, c.program, known.separate[0], separator)
		}
	}
	return nil, ""
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
