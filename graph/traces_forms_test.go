package graph_test

import "strings"

// traceForms brings what was observed into the form that package graph has for the same thing:
//   - LangGraph shows what a node wrote to a topic as the node wrote it, an item or a list of items, and stores topics that have
//     become empty. Here an item is a list of one, and an empty topic has no value.
//   - LangGraph names a namespace of the task for a subgraph that keeps its state per node, in which there is nothing. Here it is
//     the namespace with the state.
type traceForms struct {
	topic       map[string]bool // channels
	accumulates map[string]bool // channels
	own         map[string]bool // nodes
}

func (f *traceFile) forms() traceForms {
	forms := traceForms{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	forms.add(&f.Graph)
	return forms
}

func (f traceForms) add(g *traceGraph) {
	for _, c := range g.Channels {
		if strings.HasPrefix(c.Kind, "topic") {
			f.topic[c.Name], f.accumulates[c.Name] = true, c.Kind == "topic_accumulate"
		}
	}
	for i := range g.Nodes {
		if sub := g.Nodes[i].Graph; sub != nil {
			f.own[g.Nodes[i].Name] = sub.Checkpointer == "own"
			f.add(sub)
		}
	}
	for _, sub := range g.Graphs {
		f.add(sub)
	}
}

// observed changes what an operation observed.
func (f traceForms) observed(tree any) any {
	switch tree := tree.(type) {
	case []any:
		for i, item := range tree {
			tree[i] = f.observed(item)
		}
	case map[string]any:
		if node, _ := tree["node"].(string); f.own[node] {
			if state, ok := tree["state"].(map[string]any); ok {
				if ns := list(state["ns"]); len(ns) > 0 {
					ns[len(ns)-1] = node
				}
			}
		}
		for key, v := range tree {
			switch update, ok := v.(map[string]any); {
			case ok && key == "result":
				f.lists(update)
			case ok && key == "data" && tree["mode"] == "updates":
				for node, u := range update {
					if u, ok := u.(map[string]any); ok && f.lists(u) {
						update[node] = nil
					}
				}
			default:
				tree[key] = f.observed(v)
			}
		}
	}
	return tree
}

// lists makes a list of an item that is written to a topic, and removes what adds nothing to an accumulating one. It reports whether
// that leaves nothing.
func (f traceForms) lists(update map[string]any) (nothing bool) {
	for name, v := range update {
		items, isList := v.([]any)
		switch {
		case !f.topic[name]:
		case !isList:
			update[name] = []any{v}
		case len(items) == 0 && f.accumulates[name]:
			delete(update, name)
			nothing = len(update) == 0
		}
	}
	return nothing
}

// stored removes empty topics from what was stored.
func (f traceForms) stored(tree any) any {
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			f.stored(item)
		}
	case map[string]any:
		for key, v := range tree {
			if l, ok := v.([]any); ok && len(l) == 0 && f.topic[key] {
				delete(tree, key)
			} else {
				f.stored(v)
			}
		}
	}
	return tree
}
