package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
)

// The channels of the graphs. A graph and its subgraph share the channels that both have; the others are their own.
var (
	titles   = graph.Value[[]string]("titles")  // of the article
	article  = graph.Value[string]("article")   // of the article
	sections = graph.Append[string]("sections") // of article and section: what a section adds comes back, once
	title    = graph.Value[string]("title")     // of the section
	drafts   = graph.Value[int]("drafts")       // of the section
	text     = graph.Value[string]("text")      // of section and check
	remarks  = graph.Append[string]("remarks")  // of section and check
)

// articleGraph has each section of an article written by a subgraph of its own and puts them together.
func articleGraph(opts graph.Options) (*graph.Graph, error) {
	section, err := sectionGraph()
	if err != nil {
		return nil, err
	}
	b := graph.New("article", titles, sections, article)
	b.Subgraph("section", section)
	b.Node("publish", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{article.Set(strings.Join(sections.Get(s), " "))}, nil
	})
	b.Branch(graph.Start, func(s graph.State) []graph.Next {
		var next []graph.Next
		for _, t := range titles.Get(s) {
			next = append(next, graph.Send("section", graph.Update{title.Set(t)})) // the input of one subgraph
		}
		return next
	}, "section")
	b.Edge("section", "publish")
	return b.Compile(opts)
}

// sectionGraph writes a section and checks it until there are no remarks, or no more drafts.
func sectionGraph() (*graph.Graph, error) {
	check, err := checkGraph()
	if err != nil {
		return nil, err
	}
	b := graph.New("section", title, drafts, text, remarks, sections)
	b.Node("write", write)
	b.Subgraph("check", check)
	b.Node("finish", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{sections.Add(text.Get(s))}, nil
	})
	b.Edge(graph.Start, "write").Edge("write", "check")
	b.Branch("check", func(s graph.State) []graph.Next {
		if len(remarks.Get(s)) > 0 && drafts.Get(s) < len(versions) {
			return []graph.Next{graph.To("write")}
		}
		return []graph.Next{graph.To("finish")}
	}, "write", "finish")
	return b.Compile(graph.Options{})
}

// versions are the drafts of a section.
var versions = []string{
	"Every %s is very very useful.",
	"Every %s is useful.",
	"Every %s is useful, and this is how it is used.",
	"Nobody needs a %s.", // who wrote until now has lost patience
}

// write is where a model would write, with the remarks in its prompt.
func write(_ context.Context, s graph.State) (graph.Update, error) {
	n := drafts.Get(s)
	return graph.Update{drafts.Set(n + 1), text.Set(fmt.Sprintf(versions[n], title.Get(s))), remarks.Replace(nil)}, nil
}

// enough is how many words a section needs.
const enough = 8

// checkGraph makes remarks on a text. Its nodes run at the same time.
func checkGraph() (*graph.Graph, error) {
	b := graph.New("check", text, remarks)
	b.Node("style", func(_ context.Context, s graph.State) (graph.Update, error) {
		if strings.Contains(text.Get(s), "very very") {
			return graph.Update{remarks.Add("very very is one very too many")}, nil
		}
		return nil, nil
	})
	b.Node("length", func(_ context.Context, s graph.State) (graph.Update, error) {
		if n := len(strings.Fields(text.Get(s))); n < enough {
			return graph.Update{remarks.Add(fmt.Sprintf("%d words are too few", n))}, nil
		}
		return nil, nil
	})
	b.Edge(graph.Start, "style").Edge(graph.Start, "length")
	return b.Compile(graph.Options{})
}
