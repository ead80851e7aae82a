package markdown

import "strings"

// mend returns the end of an unfinished text as what it seems to become, so that what is shown does not jump when the rest
// arrives: marks that are not followed by anything yet are left out, and what was opened is closed.
func mend(text string) string {
	before := text[:strings.LastIndexByte(text, '\n')+1]
	if fence := openFence(before); fence != "" { // what may close it looks the same as without it
		return dropMarks(text, fence[:1])
	}
	if openFence(text[len(before):]) != "" {
		return text
	}
	if beginsWithNumber(before) && mayBeNumber(text[len(before):]) {
		return before
	}
	start := strings.LastIndex(text, "\n\n") + 1
	if table, mended := mendTable(text[start:]); mended {
		return text[:start] + table
	}
	text = dropMarks(text, "-=*+#>`~|_ \t")
	paragraph := text[min(start, len(text)):]
	if last := strings.LastIndexByte(paragraph, '\n') + 1; strings.HasPrefix(strings.TrimLeft(paragraph[last:], " "), "|") {
		start += last // a row: emphasis ends with its cell
		paragraph = paragraph[last:]
		if cell := strings.LastIndexByte(paragraph, '|') + 1; cell > 0 {
			start += cell
			paragraph = paragraph[cell:]
		}
	}
	return text[:start] + closeInline(paragraph)
}

// beginsWithNumber tells whether a text begins with the number of an item of a list.
func beginsWithNumber(text string) bool {
	rest := strings.TrimLeft(text, "0123456789")
	return len(rest) < len(text) && len(rest) > 1 && (rest[0] == '.' || rest[0] == ')') && rest[1] == ' '
}

// mayBeNumber tells whether a text may become the number of an item.
func mayBeNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.) ") == ""
}

// openFence returns the opening of the code block in which the text ends, and "" when it does not end in one.
func openFence(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t>")
		if open == "" {
			open = fenceOf(afterBullet(line))
			continue
		}
		if fence := fenceOf(line); strings.HasPrefix(fence, open) && strings.TrimSpace(line) == fence {
			open = ""
		}
	}
	return open
}

// afterBullet returns what is behind the bullet or the number of an item.
func afterBullet(line string) string {
	mark := strings.TrimLeft(line, "0123456789")
	marks := "-*+"
	if len(mark) < len(line) {
		marks = ".)"
	}
	if len(mark) > 1 && strings.IndexByte(marks, mark[0]) >= 0 && mark[1] == ' ' {
		return strings.TrimLeft(mark[1:], " ")
	}
	return line
}

// dropMarks leaves out the last line when it is not complete and holds nothing but the given marks.
func dropMarks(text, marks string) string {
	start := strings.LastIndexByte(text, '\n') + 1
	if last := strings.TrimSpace(text[start:]); last != "" && strings.Trim(last, marks) == "" {
		return text[:start]
	}
	return text
}

// mendTable completes the rule below the header of a table.
func mendTable(paragraph string) (string, bool) {
	last := strings.LastIndexByte(paragraph, '\n') + 1
	rule := strings.TrimSpace(paragraph[last:])
	if last == 0 || !strings.ContainsAny(rule, "-:") || strings.Trim(rule, "|-: ") != "" {
		return paragraph, false
	}
	above := paragraph[:last-1]
	header := strings.TrimSpace(above[strings.LastIndexByte(above, '\n')+1:])
	if !strings.HasPrefix(header, "|") || strings.Count(rule, "|") > strings.Count(header, "|") {
		return paragraph, false
	}
	columns := strings.Count(strings.ReplaceAll(strings.Trim(header, "|"), `\|`, ""), "|") + 1
	have := strings.Split(strings.Trim(rule, "| "), "|")
	var b strings.Builder
	for i := range columns {
		cell := "---"
		if i < len(have) && strings.Contains(have[i], "-") {
			cell = strings.TrimSpace(have[i])
		}
		b.WriteString("|" + cell)
	}
	return paragraph[:last] + b.String() + "|", true
}

// closeInline closes the code span, the emphasis and the link that are open at the end of a paragraph.
func closeInline(paragraph string) string {
	var open []string
	scan := inlineScan{text: paragraph, dangling: -1}
	for scan.next() {
		if scan.mark[0] != '`' {
			open = scan.apply(open)
			continue
		}
		end := closingTicks(paragraph[scan.end:], scan.mark)
		switch {
		case end >= 0:
			scan.end += end
		case scan.end == len(paragraph):
			return closeAll(paragraph[:scan.start], open)
		case strings.HasSuffix(paragraph, "`"): // the mark that closes has to stand apart from it
			return closeAll(paragraph+" "+scan.mark, open)
		default:
			return closeAll(paragraph+scan.mark, open)
		}
	}
	if scan.dangling >= 0 {
		paragraph = paragraph[:scan.dangling]
	}
	return closeAll(closeLink(paragraph), open)
}

// closingTicks returns the end of the run of backticks that is as long as mark, and -1 without one.
func closingTicks(text, mark string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '`' {
			continue
		}
		run := runOf(text[i:])
		if i += len(run); run == mark {
			return i
		}
	}
	return -1
}

// closeAll closes what is open, the last first.
func closeAll(text string, open []string) string {
	if len(open) == 0 {
		return text
	}
	text = strings.TrimRight(text, " \t\n")
	var b strings.Builder
	b.WriteString(text)
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i])
	}
	return b.String()
}

// closeLink closes a link whose address is being written.
func closeLink(text string) string {
	at := strings.LastIndex(text, "](")
	if at < 0 || strings.ContainsAny(text[at:], ") \n") || strings.LastIndexByte(text[:at], '[') < 0 {
		return text
	}
	return text + ")"
}

// inlineScan finds the marks of a paragraph one after the other.
type inlineScan struct {
	text       string
	mark       string // such as ** or `
	start, end int    // of mark
	dangling   int    // where a mark at the end begins that opens nothing yet; -1 when there is none
}

// next goes on to the next mark.
func (s *inlineScan) next() bool {
	for i := s.end; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case '\\':
			i++
		case '*', '_', '`', '~':
			if c == '*' && isBullet(s.text, i) {
				continue
			}
			s.mark, s.start = runOf(s.text[i:]), i
			s.end, s.dangling = i+len(s.mark), -1
			return true
		}
	}
	return false
}

// apply returns what is open behind the mark.
func (s *inlineScan) apply(open []string) []string {
	if s.mark[0] == '~' && len(s.mark) != 2 || len(s.mark) > 3 {
		return open
	}
	before := s.start == 0 || isSpace(s.text[s.start-1])
	after := s.end == len(s.text) || isSpace(s.text[s.end])
	for i := len(open) - 1; i >= 0 && !before; i-- {
		if open[i] == s.mark && (s.mark[0] != '_' || after || isPunctuation(s.text[s.end])) {
			return open[:i]
		}
	}
	switch {
	case s.end == len(s.text) && before:
		s.dangling = s.start
	case !after && (s.mark[0] != '_' || before || isPunctuation(s.text[s.start-1])):
		return append(open, s.mark)
	}
	return open
}

// isBullet tells whether the star at i begins an item of a list.
func isBullet(text string, i int) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return strings.TrimLeft(line, " >") == "" && i+1 < len(text) && text[i+1] == ' '
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// runOf returns the run of equal bytes at the beginning of a text that is not empty.
func runOf(text string) string {
	n := 1
	for n < len(text) && text[n] == text[0] {
		n++
	}
	return text[:n]
}
