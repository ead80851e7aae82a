package lifecycle

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/llama-agent/llama-agent/graph/store/fulltext"
)

// SearchOptions narrow [Store.Search].
type SearchOptions struct {
	Kinds       []Kind   // none: all
	Limit       int      // hits; default 10
	ExcludeKeys []string // of records that are not wanted, such as turns that are shown anyway
	WithText    bool     // fill in Text and Data
}

// A Hit is a record that a search found.
type Hit struct {
	Record
	Score float64 `json:"score"` // BM25, above 0; higher is better
}

// Search returns the records of the owners whose name or text holds a word of the query, the best first, then those of a lower
// order, then by reference. Words are those of package fulltext: whatever the script, with no regard to case and accents; longer
// words that begin with one of three letters or more are found too, but count for less. No character of the query has a meaning of
// its own. A record that several of the owners have is found once, for the first of them; a memory of a later owner hides one of the same key.
//
// Scores depend on the records of these owners and kinds only, so that what happens in another conversation changes nothing.
func (s *Store) Search(ctx context.Context, owners []string, query string, opts SearchOptions) ([]Hit, error) {
	if err := checkReaders(owners); err != nil {
		return nil, fmt.Errorf("searching records: %w", err)
	}
	kinds, err := kindList(opts.Kinds)
	if err != nil {
		return nil, fmt.Errorf("searching records: %w", err)
	}
	phrases := fulltext.Parse(query, false).Phrases()
	if len(phrases) == 0 {
		return nil, s.db.Usable()
	}
	var hits []Hit
	err = s.view(ctx, "searching", func(t *txn) error {
		candidates, err := t.candidates(ctx, owners, kinds)
		if err != nil {
			return err
		}
		found, err := t.rank(ctx, candidates, phrases)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(c candidate) bool { return slices.Contains(opts.ExcludeKeys, c.key) })
		found = found[:min(len(found), cmp.Or(max(0, opts.Limit), 10))]
		for _, c := range found {
			r, err := t.scan(t.Row(ctx, "by_id", c.owner, c.id))
			if err == nil && opts.WithText {
				err = t.load(ctx, &r)
			}
			if err != nil {
				return err
			}
			hits = append(hits, Hit{Record: r.Record, Score: c.score})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// candidate is a record that a search looks at.
type candidate struct {
	owner, ref string
	id         int64
	kind       Kind
	key        string
	order      int64
	tokens     int
	score      float64
}

// candidates returns the records among which a search looks, each once.
func (t *txn) candidates(ctx context.Context, owners []string, kinds string) ([]candidate, error) {
	list, err := jsonList(owners)
	if err != nil {
		return nil, err
	}
	var all []candidate
	latest := map[string]int{} // place of the memory of a key
	seen := map[int64]bool{}
	err = t.Each(ctx, func(rows *sql.Rows) error {
		var c candidate
		if err := rows.Scan(&c.owner, &c.id, &c.ref, &c.kind, &c.key, &c.order, &c.tokens); err != nil {
			return err
		}
		if c.kind == KindMemory {
			if i, ok := latest[c.key]; ok {
				all[i] = c
				return nil
			}
			latest[c.key] = len(all)
		} else if seen[c.id] {
			return nil
		}
		seen[c.id] = true
		all = append(all, c)
		return nil
	}, "candidates", list, kinds)
	return all, err
}

// rank returns the candidates that hold a phrase, the best first.
func (t *txn) rank(ctx context.Context, candidates []candidate, phrases []fulltext.Phrase) ([]candidate, error) {
	ids := make([]int64, len(candidates))
	tokens := 0
	for i, c := range candidates {
		ids[i] = c.id
		tokens += c.tokens
	}
	counts, err := t.counts(ctx, ids, phrases)
	if err != nil {
		return nil, err
	}
	holding := make([]int, len(phrases))
	for _, of := range counts {
		for i, n := range of {
			if n > 0 {
				holding[i]++
			}
		}
	}
	ranking := fulltext.NewRanking(len(candidates), tokens, holding)
	var found []candidate
	for _, c := range candidates {
		if of, ok := counts[c.id]; ok {
			c.score = ranking.Score(c.tokens, of)
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.order, b.order), cmp.Compare(a.ref, b.ref))
	})
	return found, nil
}

// lookup is the tokens that phrases of one word fit: the word itself, and longer ones. The phrases are indexes, or -1.
type lookup struct {
	word, last    string // tokens from word to last
	exact, prefix int
}

// lookups returns what to look up for phrases. A query whose terms need not all be there has only phrases of one token.
func lookups(phrases []fulltext.Phrase) []lookup {
	var all []lookup
	at := map[string]int{}
	for i, p := range phrases {
		word := p.Tokens[0]
		n, ok := at[word]
		if !ok {
			n = len(all)
			at[word] = n
			all = append(all, lookup{word: word, last: word, exact: -1, prefix: -1})
		}
		if p.Prefix {
			all[n].prefix, all[n].last = i, word+"\U0010FFFF" // no token holds it
		} else {
			all[n].exact = i
		}
	}
	return all
}

// counts returns how often each phrase is in the records that hold one, by id.
func (t *txn) counts(ctx context.Context, ids []int64, phrases []fulltext.Phrase) (map[int64][]int, error) {
	looked := lookups(phrases)
	ranges := make([][2]string, len(looked))
	for i, l := range looked {
		ranges[i] = [2]string{l.word, l.last}
	}
	idList, err := jsonList(ids)
	if err != nil {
		return nil, err
	}
	rangeList, err := jsonList(ranges)
	if err != nil {
		return nil, err
	}
	counts := map[int64][]int{}
	err = t.Each(ctx, func(rows *sql.Rows) error {
		var id int64
		var i, exact, all int
		if err := rows.Scan(&id, &i, &exact, &all); err != nil {
			return err
		}
		if counts[id] == nil {
			counts[id] = make([]int, len(phrases))
		}
		if l := looked[i]; l.exact >= 0 {
			counts[id][l.exact] = exact
		}
		if l := looked[i]; l.prefix >= 0 {
			counts[id][l.prefix] = all
		}
		return nil
	}, "hits", idList, rangeList)
	return counts, err
}

// index returns the number of tokens of a record and, as JSON, how often each is there.
func index(name, text string) (tokens int, postings string, err error) {
	var s fulltext.Segmenter
	s.Add(name)
	s.Add(text)
	all := s.Tokens()
	counts := map[string]int{}
	for _, token := range all {
		counts[token]++
	}
	pairs := make([][2]any, 0, len(counts))
	for _, token := range slices.Sorted(maps.Keys(counts)) {
		pairs = append(pairs, [2]any{token, counts[token]})
	}
	postings, err = jsonList(pairs)
	return len(all), postings, err
}
