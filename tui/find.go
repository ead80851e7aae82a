package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// find is a search in the transcript or the document: upper and lower case are the same.
type find struct {
	typed      string
	typing     bool   // keys go to typed
	item, line int    // where it was found last; item -1: nowhere
	missing    bool   // it is nowhere
	opened     *entry // whose result the search opened, and closes when it goes on
}

func (s *State) startFind() {
	s.find = &find{typing: true, item: -1}
}

func (s *State) pressFind(k key) {
	f := s.find
	switch {
	case k.name == "esc":
		s.find = nil
	case k.name == "enter":
		if f.typed == "" {
			s.find = nil
			return
		}
		f.typing = false
		if s.document == nil {
			s.mode = modeBrowse
			s.selected = max(f.item, 0)
			s.notice = "n and N find the next and the one before, Esc ends"
		}
	case k.name == "down":
		s.findNext(1)
	case k.name == "up":
		s.findNext(-1)
	case k.name == "backspace":
		if f.typed != "" {
			_, size := utf8.DecodeLastRuneInString(f.typed)
			f.typed = f.typed[:len(f.typed)-size]
			s.findNext(0)
		}
	case k.name == "ctrl+u":
		f.typed, f.missing = "", false
	case k.text != "":
		f.typed += k.text
		s.findNext(0)
	}
}

// findNext goes to the next place, or with a negative step to the one before; with 0 to the last one in the transcript, and to the
// first one in a document.
func (s *State) findNext(step int) {
	f := s.find
	if f == nil || f.typed == "" {
		return
	}
	src, height := s.viewed()
	item, line := f.item, f.line
	if step == 0 || item < 0 {
		item, line, step = -1, 0, 1
		if s.document == nil {
			item, step = src.count(), -1
		}
	}
	item, line, found := s.search(src, f.typed, item, line, step)
	f.missing = !found
	if !found {
		return
	}
	f.item, f.line = item, line
	if s.document == nil {
		s.selected = item
	}
	s.scroller().to(src, item, line, height)
}

// search looks for the next line with a text from one on, and begins anew behind the end. Only items that have the text are turned into
// lines.
func (s *State) search(src source, text string, item, line, step int) (int, int, bool) {
	n := src.count()
	has := func(i int) bool { return foldContains(s.itemText(i), text) }
	if item >= 0 && item < n && has(item) {
		if at, ok := lineWith(src.lines(item), text, line+step, step); ok {
			return item, at, true
		}
	}
	for range n {
		item += step
		if item >= n {
			item = 0
		} else if item < 0 {
			item = n - 1
		}
		if !has(item) {
			continue
		}
		s.uncover(item)
		all := src.lines(item)
		from := 0
		if step < 0 {
			from = len(all) - 1
		}
		if at, ok := lineWith(all, text, from, step); ok {
			return item, at, true
		}
		if len(all) > 0 { // it is broken over two lines
			return item, 0, true
		}
	}
	return 0, 0, false
}

// uncover opens an entry, in whose hidden part may be what is looked for, and closes the one that was opened for that before.
func (s *State) uncover(item int) {
	if s.document != nil {
		return
	}
	e, f := s.entries[item], s.find
	if f.opened != nil && f.opened != e {
		f.opened.open = false
		f.opened.touch()
		f.opened = nil
	}
	if e.expandable() && !e.open {
		e.open = true
		e.touch()
		f.opened = e
	}
}

// itemText is the text of an item of what is viewed.
func (s *State) itemText(i int) string {
	if s.document != nil {
		return s.document.pieces[i]
	}
	return s.entries[i].plain()
}

func lineWith(all []cells.Line, text string, from, step int) (int, bool) {
	for i := from; i >= 0 && i < len(all); i += step {
		if foldContains(all[i].String(), text) {
			return i, true
		}
	}
	return 0, false
}

// foldContains reports whether s has text, in any case.
func foldContains(s, text string) bool { return foldIndex(s, text) >= 0 }

// foldIndex is where s has text in any case, or -1. Where letters have other sizes in the other case it looks at each place.
func foldIndex(s, text string) int {
	if text == "" {
		return -1
	}
	first, _ := utf8.DecodeRuneInString(text)
	lower, upper := unicode.ToLower(first), unicode.ToUpper(first)
	for i := 0; i < len(s); {
		rest := s[i:]
		a, b := strings.IndexRune(rest, lower), -1
		if upper != lower {
			b = strings.IndexRune(rest, upper)
		}
		at := a
		if at < 0 || b >= 0 && b < at {
			at = b
		}
		if at < 0 {
			return -1
		}
		i += at
		if end := foldPrefix(s[i:], text); end > 0 {
			return i
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return -1
}

// foldPrefix is how many bytes of s are text in any case, when s begins with it, else 0.
func foldPrefix(s, text string) int {
	i := 0
	for _, want := range text {
		got, size := utf8.DecodeRuneInString(s[i:])
		if size == 0 || unicode.ToLower(got) != unicode.ToLower(want) {
			return 0
		}
		i += size
	}
	return i
}

// highlight marks where a text is found in a line.
func highlight(l cells.Line, text string) cells.Line {
	whole := l.String()
	var out cells.Line
	at := 0
	for {
		i := foldIndex(whole[at:], text)
		if i < 0 {
			break
		}
		n := foldPrefix(whole[at+i:], text)
		out = cells.Concat(out, slice(l, at, at+i), cells.Styled(whole[at+i:at+i+n], cells.Style{Role: cells.Selection, Attr: cells.Reverse}))
		at += i + n
	}
	if at == 0 {
		return l
	}
	return cells.Concat(out, slice(l, at, len(whole)))
}

// slice is the part of a line between two bytes of its text.
func slice(l cells.Line, from, to int) cells.Line {
	var out cells.Line
	at := 0
	for _, span := range l {
		a, b := max(from-at, 0), min(to-at, len(span.Text))
		if a < b {
			out = append(out, cells.Span{Text: span.Text[a:b], Style: span.Style})
		}
		at += len(span.Text)
	}
	return out
}
