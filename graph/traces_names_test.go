package graph_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// traceNames puts the names of the scenarios in the place of IDs: question i0, second task w#2.
type traceNames struct {
	mu        sync.Mutex // nodes note namespaces too
	spaces    []rawSpace // each with those around it, in order of first sight
	questions map[rawQuestion]string
	taken     map[string]bool
}

func newTraceNames() *traceNames {
	return &traceNames{questions: map[rawQuestion]string{}, taken: map[string]bool{}}
}

// space notes a namespace.
func (n *traceNames) space(s rawSpace) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range s.path {
		prefix := rawSpace{s.thread, s.path[:i+1]}
		if !slices.ContainsFunc(n.spaces, func(known rawSpace) bool { return known.equal(prefix) }) {
			n.spaces = append(n.spaces, rawSpace{s.thread, slices.Clone(prefix.path)})
		}
	}
}

func (s rawSpace) equal(o rawSpace) bool { return s.thread == o.thread && slices.Equal(s.path, o.path) }

// name is the node of the last part, and whether that part is a task.
func (s rawSpace) name() (name string, task bool) {
	name, _, task = strings.Cut(s.path[len(s.path)-1], ":")
	return name, task
}

// counting says which tasks of a node are numbered together. The format's description allows for several readings.
type counting int

const (
	countInSpace  counting = iota // those in one namespace
	countInPath                   // those whose nodes lie on one path
	countInThread                 // those of one name
	countings
)

// path names a namespace.
func (n *traceNames) path(s rawSpace, by counting) []any {
	out := []any{}
	for i := range s.path {
		prefix := rawSpace{s.thread, s.path[:i+1]}
		name, task := prefix.name()
		if k := n.place(prefix, by); task && k > 1 {
			name += "#" + strconv.Itoa(k)
		}
		out = append(out, name)
	}
	return out
}

// place counts the namespaces like s up to s.
func (n *traceNames) place(s rawSpace, by counting) int {
	k := 0
	for _, other := range n.spaces {
		if other.thread == s.thread && other.like(s, by) {
			k++
		}
		if other.equal(s) {
			break
		}
	}
	return k
}

func (s rawSpace) like(o rawSpace, by counting) bool {
	a, taskA := s.name()
	b, taskB := o.name()
	if a != b || !taskA || !taskB {
		return false
	}
	switch by {
	case countInSpace:
		return len(s.path) == len(o.path) && slices.Equal(s.path[:len(s.path)-1], o.path[:len(o.path)-1])
	case countInPath:
		return slices.Equal(s.nodes(), o.nodes())
	}
	return true
}

func (s rawSpace) nodes() []string {
	nodes := make([]string, len(s.path))
	for i, part := range s.path {
		nodes[i], _, _ = strings.Cut(part, ":")
	}
	return nodes
}

// learn finds the questions in want and got that are the same: those of one value that aren't known yet.
func (n *traceNames) learn(want, got any) {
	asked := findQuestions(want)
	for _, q := range findQuestions(got) {
		raw := q["id"].(rawQuestion)
		if _, known := n.questions[raw]; known {
			continue
		}
		for _, w := range asked {
			if name, _ := w["id"].(string); !n.taken[name] && jsonEqual(q["value"], w["value"]) {
				n.questions[raw], n.taken[name] = name, true
				break
			}
		}
	}
}

// findQuestions lists the objects with an id and a value anywhere in tree.
func findQuestions(tree any) []map[string]any {
	var found []map[string]any
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			found = append(found, findQuestions(item)...)
		}
	case map[string]any:
		if _, ok := tree["id"]; ok && len(tree) == 2 && tree["value"] != nil {
			return []map[string]any{tree}
		}
		for _, key := range sortedKeys(tree) {
			found = append(found, findQuestions(tree[key])...)
		}
	}
	return found
}

// render is tree as plain JSON, with names for IDs.
func (n *traceNames) render(tree any, by counting) any {
	return plain(n.named(tree, by))
}

func (n *traceNames) named(tree any, by counting) any {
	switch tree := tree.(type) {
	case rawQuestion:
		if name, ok := n.questions[tree]; ok {
			return name
		}
		return "unknown question " + string(tree)
	case rawTask:
		return string(tree)
	case rawSpace:
		return n.path(tree, by)
	case overwriteValue:
		return map[string]any{"$overwrite": n.named(tree.value, by)}
	case []any:
		out := make([]any, len(tree))
		for i, item := range tree {
			out[i] = n.named(item, by)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(tree))
		for key, item := range tree {
			out[key] = n.named(item, by)
		}
		return out
	}
	return tree
}

// plain is what is left of v in JSON.
func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%v has no JSON: %v", v, err))
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

func jsonEqual(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
