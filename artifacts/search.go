package artifacts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// DefaultMatches bounds the matches of a search when its Query does not.
	DefaultMatches = 10
	// maxQueryBytes bounds a query.
	maxQueryBytes = 4096
	// maxShown is the most of a line that a match shows, in bytes; of a longer one, the part around the match. It is less when all
	// matches together may not show as much.
	maxShown = 400
	// maxPlaces is how many matches of a regular expression are looked for in one long line.
	maxPlaces = 1000
	// checkLines is after how many lines a search looks whether it is still wanted.
	checkLines = 4096
)

// A Query says what to look for. Letter case counts, unless nothing matches that way: then what differs in case only is found.
type Query struct {
	Text       string
	Regex      bool  // Text is a regular expression (RE2), in which (?i) makes letter case not count
	MaxMatches int   // 0: DefaultMatches
	MaxBytes   int64 // of the texts of all matches together; 0: DefaultPageBytes
}

// A Match is a place where a query was found. Of a line that is not longer than what a match shows there is one; of a longer one
// there are as many as it takes to show them all.
type Match struct {
	Line   int   `json:"line"`   // from 1
	Offset int64 `json:"offset"` // of the first byte of what was found
	Length int64 `json:"length"` // of what was found, in bytes; 0 for an expression that matches nothing at all
	// Text is the line without its line end, or the part around what was found; safe to show.
	Text string `json:"text"`
}

// SearchResult is what a search found.
type SearchResult struct {
	Artifact Artifact
	Matches  []Match // in the order of the content
	Lines    int     // that match, shown or not
	Left     int     // places that match and are not in Matches
	// More says that there are more places in a long line than Left counts.
	More bool
	// OtherCase says that nothing matches exactly, and that these matches differ from the query in letter case.
	OtherCase bool
}

// Search finds a query in an artifact, line by line. Match.Line, and Match.Offset with Match.Length, can be given to Retrieve as
// they are. It works on bytes, also where they are no text. Errors are [*QueryError], [*UnknownError] and [*DamagedError] besides
// those of the disk, and ctx.Err().
func (s *Store) Search(ctx context.Context, owner, ref string, q Query) (SearchResult, error) {
	find, loose, problem := q.finders()
	if problem != nil {
		return SearchResult{}, problem
	}
	a, content, err := s.load(ctx, owner, ref)
	if err != nil {
		return SearchResult{}, err
	}
	result, err := search(ctx, content, q, find)
	if err == nil && result.Lines == 0 && loose != nil {
		result, err = search(ctx, content, q, loose)
		result.OtherCase = result.Lines > 0
	}
	result.Artifact = a
	return result, err
}

// A finder returns where a line matches, at most limit places that don't overlap.
type finder func(line []byte, limit int) [][]int

// finders returns how to search, and how to do it when that finds nothing; nil when there is no other way.
func (q Query) finders() (find, loose finder, problem error) {
	switch {
	case q.Text == "":
		return nil, nil, &QueryError{Reason: "the query is empty", Fix: "give a text to find"}
	case len(q.Text) > maxQueryBytes:
		return nil, nil, &QueryError{
			Reason: fmt.Sprintf("the query has %d bytes; at most %d are allowed", len(q.Text), maxQueryBytes), Fix: "give a shorter one",
		}
	case !q.Regex && strings.ContainsAny(q.Text, "\n"):
		return nil, nil, &QueryError{Reason: "the query has a line end, and lines are searched one by one", Fix: "give a text within one line"}
	}
	if q.Regex {
		expression, err := regexp.Compile(q.Text)
		if err != nil {
			return nil, nil, &QueryError{
				Reason: "the query is no regular expression: " + err.Error(), Fix: "use RE2 syntax, or search for the text as it is", Err: err,
			}
		}
		return expression.FindAllIndex, nil, nil
	}
	text := []byte(q.Text)
	find = func(line []byte, limit int) [][]int {
		var places [][]int
		for at := 0; len(places) < limit; {
			i := bytes.Index(line[at:], text)
			if i < 0 {
				break
			}
			places = append(places, []int{at + i, at + i + len(text)})
			at += i + len(text)
		}
		return places
	}
	if utf8.ValidString(q.Text) && strings.ToLower(q.Text) != strings.ToUpper(q.Text) {
		loose = regexp.MustCompile("(?i)" + regexp.QuoteMeta(q.Text)).FindAllIndex
	}
	return find, loose, nil
}

// search looks through all lines.
func search(ctx context.Context, content []byte, q Query, find finder) (SearchResult, error) {
	room := matchRoom{matches: cmp.Or(max(q.MaxMatches, 0), DefaultMatches), bytes: cmp.Or(max(q.MaxBytes, 0), DefaultPageBytes)}
	room.shown = int(min(maxShown, room.bytes))
	result := SearchResult{Matches: []Match{}}
	for number, from := 1, 0; from < len(content); number++ {
		if number%checkLines == 0 && ctx.Err() != nil {
			return result, ctx.Err()
		}
		next := lineEnd(content, from)
		line := trimLineEnd(content[from:next])
		limit := 1
		if len(line) > room.shown {
			limit = maxPlaces
		}
		if places := find(line, limit); len(places) > 0 {
			result.Lines++
			result.More = result.More || limit > 1 && len(places) == limit
			result.add(line, number, from, places, &room)
		}
		from = next
	}
	return result, ctx.Err()
}

// matchRoom is how much more a search shows.
type matchRoom struct {
	matches int
	bytes   int64
	shown   int // bytes of a line
}

// add takes the matches of a line, leaving out those that the text of the one before shows.
func (r *SearchResult) add(line []byte, number, offset int, places [][]int, room *matchRoom) {
	shownTo := -1
	for _, at := range places {
		if at[1] <= shownTo {
			continue
		}
		from, to := around(line, at[0], room.shown)
		shownTo = to
		if room.matches == 0 || room.bytes < int64(to-from) {
			room.matches = 0 // a later one that is shorter must not come out of order
			r.Left++
			continue
		}
		room.matches, room.bytes = room.matches-1, room.bytes-int64(to-from)
		text := show(line[from:to])
		if from > 0 {
			text = "…" + text
		}
		if to < len(line) {
			text += "…"
		}
		r.Matches = append(r.Matches, Match{Line: number, Offset: int64(offset + at[0]), Length: int64(at[1] - at[0]), Text: text})
	}
}

// around returns the part of a line, of at most size bytes, that is shown for a match at a place.
func around(line []byte, at, size int) (from, to int) {
	if len(line) <= size {
		return 0, len(line)
	}
	from = charStart(line, max(0, min(at-size/4, len(line)-size)))
	return from, charStart(line, min(len(line), from+size))
}

func trimLineEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}
