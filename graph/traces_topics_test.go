package graph_test

import "strings"

// LangGraph shows what a node wrote to a topic as the node wrote it, an item or a list of items, and stores topics that have
// become empty. In package graph an item is a list of one, and an empty topic has no value.

// topics adds the names of the topics of g and the graphs inside it to names.
func (g *traceGraph) topics(names map[string]bool) map[string]bool {
	for _, c := range g.Channels {
		if strings.HasPrefix(c.Kind, "topic") {
			names[c.Name] = true
		}
	}
	for i := range g.Nodes {
		if sub := g.Nodes[i].Graph; sub != nil {
			sub.topics(names)
		}
	}
	for _, sub := range g.Graphs {
		sub.topics(names)
	}
	return names
}

// topicLists makes lists of the items that are written to topics in what was observed.
func topicLists(tree any, topics map[string]bool) any {
	switch tree := tree.(type) {
	case []any:
		for i, item := range tree {
			tree[i] = topicLists(item, topics)
		}
	case map[string]any:
		for key, v := range tree {
			switch update, ok := v.(map[string]any); {
			case ok && key == "result":
				listTopics(update, topics)
			case ok && key == "data" && tree["mode"] == "updates":
				for _, u := range update {
					if u, ok := u.(map[string]any); ok {
						listTopics(u, topics)
					}
				}
			default:
				tree[key] = topicLists(v, topics)
			}
		}
	}
	return tree
}

func listTopics(update map[string]any, topics map[string]bool) {
	for name, v := range update {
		if _, isList := v.([]any); topics[name] && !isList {
			update[name] = []any{v}
		}
	}
}

// noEmptyTopics removes empty topics from what was stored.
func noEmptyTopics(tree any, topics map[string]bool) any {
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			noEmptyTopics(item, topics)
		}
	case map[string]any:
		for key, v := range tree {
			if l, ok := v.([]any); ok && len(l) == 0 && topics[key] {
				delete(tree, key)
			} else {
				noEmptyTopics(v, topics)
			}
		}
	}
	return tree
}
