package conversation

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// maxTitle is the most characters (code points) a title has.
const maxTitle = 80

// titleOf makes a title of the first words of a goal: one line, without control characters and those that turn the direction of
// text around. A cut title ends in "…", after a whole word where one is near.
func titleOf(goal string) string {
	line, whole := firstLine(goal)
	if whole {
		return line
	}
	cut := cutCharacters(line, maxTitle-1)
	// Languages without spaces, and long words, are cut where the room ends.
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)/2 && line[len(cut)] != ' ' {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ") + "…"
}

// firstLine returns the beginning of text with single spaces for whatever separates words, and whether that is all of it. When it
// isn't, it has more than [maxTitle] characters. Goals may be long, so no more than that is looked at.
func firstLine(text string) (line string, whole bool) {
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = n > 0
			continue
		case unicode.Is(unicode.Bidi_Control, r):
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
		}
		b.WriteRune(r)
		n, space = n+1, false
		if n > maxTitle {
			return b.String(), false
		}
	}
	return b.String(), true
}

// cutCharacters returns the beginning of line that has at most so many code points. It keeps together what a reader takes for one
// character, unless that alone is too long.
func cutCharacters(line string, most int) string {
	n, end := 0, 0
	for g := uniseg.NewGraphemes(line); g.Next(); {
		n += len(g.Runes())
		if n > most {
			break
		}
		_, end = g.Positions()
	}
	if end > 0 {
		return line[:end]
	}
	runes := 0
	for i := range line {
		if runes == most {
			return line[:i]
		}
		runes++
	}
	return line
}
