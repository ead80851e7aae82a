package store

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/llama-agent/llama-agent/graph/store/fulltext"
)

// SweptByWrite is how many expired items a Write of the stores of this module removes at most, those that expired first.
const SweptByWrite = 64

// Memory is a [Store] in memory. It is a [Sweeper] too, and safe for concurrent use. Its searches look at every item that a
// query's namespace and text could select.
type Memory struct {
	opts Options

	mu       sync.RWMutex
	byKey    []*memoryItem // sorted by namespace and key
	byExpiry []*memoryItem // those that expire, sorted by that, namespace and key
	changes  int64
	texts    int // searchable items
	tokens   int // of them, with their namespaces
}

type memoryItem struct {
	Item
	expiry  Expiry
	changed int64
	tokens  []string
}

// size is the number of tokens that count for the ranking. Each namespace that the item is in or below is one, as it is in
// an index that finds items by their namespace.
func (it *memoryItem) size() int { return len(it.tokens) + len(it.Namespace) }

func (it *memoryItem) live(now time.Time) bool { return it.Expires.IsZero() || it.Expires.After(now) }

func (it *memoryItem) copy() Item {
	item := it.Item
	item.Namespace, item.Value = slices.Clone(item.Namespace), slices.Clone(item.Value)
	return item
}

// NewMemory returns an empty store. With a field in opts that is no path, every put that relies on it is refused.
func NewMemory(opts Options) *Memory { return &Memory{opts: opts.WithDefaults()} }

var (
	_ Store   = (*Memory)(nil)
	_ Sweeper = (*Memory)(nil)
)

func compareKeys(a, b *memoryItem) int {
	return cmp.Or(a.Namespace.Compare(b.Namespace), strings.Compare(a.Key, b.Key))
}

func compareExpiry(a, b *memoryItem) int {
	return cmp.Or(a.Expires.Compare(b.Expires), compareKeys(a, b))
}

func insert(list []*memoryItem, it *memoryItem, compare func(a, b *memoryItem) int) []*memoryItem {
	i, _ := slices.BinarySearchFunc(list, it, compare)
	return slices.Insert(list, i, it)
}

func remove(list []*memoryItem, it *memoryItem, compare func(a, b *memoryItem) int) []*memoryItem {
	i, _ := slices.BinarySearchFunc(list, it, compare)
	return slices.Delete(list, i, i+1)
}

func (m *Memory) find(ns Namespace, key string) (*memoryItem, bool) {
	i, ok := slices.BinarySearchFunc(m.byKey, &memoryItem{Item: Item{Namespace: ns, Key: key}}, compareKeys)
	if !ok {
		return nil, false
	}
	return m.byKey[i], true
}

// below returns the items in and below a namespace.
func (m *Memory) below(prefix Namespace) []*memoryItem {
	start, _ := slices.BinarySearchFunc(m.byKey, &memoryItem{Item: Item{Namespace: prefix}}, compareKeys)
	rest := m.byKey[start:]
	return rest[:sort.Search(len(rest), func(i int) bool { return !rest[i].Namespace.HasPrefix(prefix) })]
}

func (m *Memory) add(it *memoryItem) {
	m.byKey = insert(m.byKey, it, compareKeys)
	if !it.Expires.IsZero() {
		m.byExpiry = insert(m.byExpiry, it, compareExpiry)
	}
	if len(it.tokens) > 0 {
		m.texts++
		m.tokens += it.size()
	}
}

func (m *Memory) drop(it *memoryItem) {
	m.byKey = remove(m.byKey, it, compareKeys)
	if !it.Expires.IsZero() {
		m.byExpiry = remove(m.byExpiry, it, compareExpiry)
	}
	if len(it.tokens) > 0 {
		m.texts--
		m.tokens -= it.size()
	}
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, ns Namespace, key string, opts ...ReadOption) (Item, error) {
	if err := ctx.Err(); err != nil {
		return Item{}, err
	}
	if err := ns.Validate(); err != nil {
		return Item{}, err
	}
	if err := ValidateKey(key); err != nil {
		return Item{}, err
	}
	now := Instant(m.opts.Clock())
	m.mu.RLock()
	it, ok := m.find(ns, key)
	if !ok || !it.live(now) {
		m.mu.RUnlock()
		return Item{}, &NotFoundError{Namespace: slices.Clone(ns), Key: key}
	}
	item := it.copy()
	m.mu.RUnlock()
	if it.expiry.Sliding && !slices.Contains(opts, Peek) {
		items := []Item{item}
		m.touch(now, items)
		item = items[0]
	}
	return item, nil
}

// touch puts off the expiry of items that were read at now.
func (m *Memory) touch(now time.Time, items []Item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range items {
		it, ok := m.find(items[i].Namespace, items[i].Key)
		if !ok || !it.expiry.Sliding || !it.live(now) {
			continue
		}
		if at := it.expiry.At(now); at.After(it.Expires) {
			m.byExpiry = remove(m.byExpiry, it, compareExpiry)
			it.Expires = at
			m.byExpiry = insert(m.byExpiry, it, compareExpiry)
		}
		items[i].Expires = it.Expires
	}
}

// Write implements [Store].
func (m *Memory) Write(ctx context.Context, ops ...Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := Instant(m.opts.Clock())
	puts := make([]*memoryItem, len(ops))
	for i, op := range ops {
		op, err := m.opts.Prepare(op)
		if err != nil {
			return err
		}
		if op.Kind != OpPut {
			continue
		}
		tokens, err := op.Tokens()
		if err != nil {
			return err
		}
		puts[i] = &memoryItem{expiry: op.Expiry, tokens: tokens, Item: Item{
			Namespace: slices.Clone(op.Namespace), Key: op.Key, Value: op.Value, Created: now, Updated: now, Expires: op.Expiry.At(now)}}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, op := range ops {
		switch op.Kind {
		case OpPut:
			m.put(puts[i])
		case OpDelete:
			if it, ok := m.find(op.Namespace, op.Key); ok {
				m.drop(it)
			}
		case OpDeleteAll:
			for _, it := range slices.Clone(m.below(op.Namespace)) {
				m.drop(it)
			}
		}
	}
	m.sweep(now, SweptByWrite)
	return nil
}

func (m *Memory) put(it *memoryItem) {
	if old, ok := m.find(it.Namespace, it.Key); ok {
		if old.live(it.Updated) {
			it.Created = old.Created
		}
		m.drop(old)
	}
	m.changes++
	it.changed = m.changes
	m.add(it)
}

// Sweep implements [Sweeper].
func (m *Memory) Sweep(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	now := Instant(m.opts.Clock())
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sweep(now, len(m.byExpiry)), nil
}

func (m *Memory) sweep(now time.Time, limit int) int {
	n := 0
	for n < min(limit, len(m.byExpiry)) && !m.byExpiry[n].live(now) {
		n++
	}
	for _, it := range slices.Clone(m.byExpiry[:n]) {
		m.drop(it)
	}
	return n
}

// Search implements [Store].
func (m *Memory) Search(ctx context.Context, q Query) ([]Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	filter, err := NewFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	now := Instant(m.opts.Clock())
	items, slides, err := m.search(now, q, filter)
	if err != nil {
		return nil, err
	}
	if slides && !q.Peek {
		m.touch(now, items)
	}
	return items, nil
}

// search returns the items of a query and whether reading puts off the expiry of one.
func (m *Memory) search(now time.Time, q Query, filter Filter) (items []Item, slides bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	hits := m.order(q, now)
	skip := q.Offset
	for _, h := range hits {
		if ok, err := filter.Holds(h.Value); err != nil {
			return nil, false, err
		} else if !ok {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		item := h.copy()
		item.Score = h.score
		items = append(items, item)
		slides = slides || h.expiry.Sliding
		if len(items) == q.Limit {
			break
		}
	}
	return items, slides, nil
}

type hit struct {
	*memoryItem
	score float64
}

// order returns the items that a query selects by anything but its filter, in its order.
func (m *Memory) order(q Query, now time.Time) []hit {
	if q.Text != "" {
		return m.match(q, now)
	}
	var hits []hit
	for _, it := range m.below(q.Namespace) {
		if it.live(now) {
			hits = append(hits, hit{it, 0})
		}
	}
	if q.Order == Newest {
		slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(b.changed, a.changed) })
	}
	return hits
}

// match ranks items by text.
func (m *Memory) match(q Query, now time.Time) []hit {
	text := fulltext.Parse(q.Text, q.All)
	phrases := text.Phrases()
	have := make([]int, len(phrases)) // searchable items that hold each phrase, wherever they are
	type candidate struct {
		*memoryItem
		counts []int
	}
	var found []candidate
	loose := fulltext.Query{Terms: text.Terms}
	for _, it := range m.byKey {
		counts := loose.Count(it.tokens)
		for i, n := range counts {
			if n > 0 {
				have[i]++
			}
		}
		if counts != nil && it.live(now) && it.Namespace.HasPrefix(q.Namespace) && (!q.All || text.Count(it.tokens) != nil) {
			found = append(found, candidate{it, counts})
		}
	}
	ranking := fulltext.NewRanking(m.texts, m.tokens, have)
	hits := make([]hit, len(found))
	for i, c := range found {
		hits[i] = hit{c.memoryItem, ranking.Score(c.size(), c.counts)}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits
}

// Namespaces implements [Store].
func (m *Memory) Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	now := Instant(m.opts.Clock())
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Namespace
	var seen Namespace
	for _, it := range m.byKey {
		if !it.live(now) || slices.Equal(it.Namespace, seen) {
			continue
		}
		seen = it.Namespace
		// Cut namespaces come sorted too, so one that was found before is the last one.
		if ns, ok := q.Select(it.Namespace); ok && (len(found) == 0 || found[len(found)-1].Compare(ns) != 0) {
			found = append(found, ns)
		}
	}
	found = found[min(q.Offset, len(found)):]
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, nil
}
