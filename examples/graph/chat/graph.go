package main

import (
	"context"
	"regexp"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/store"
)

// message is one message of a conversation.
type message struct {
	Role, Text string
}

const (
	roleUser = "user"
	roleBot  = "bot"
)

// fact is something the user has said of themselves.
type fact struct {
	Text string `json:"text"`
}

// The channels of the graph.
var (
	user     = graph.Value[string]("user")
	messages = graph.Append[message]("messages")  // grows; each boundary stores only what is new
	facts    = graph.Ephemeral[[]string]("facts") // for the next node only
)

// newGraph returns the graph recall → answer → remember.
func newGraph(model llms.Model, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("chat", user, messages, facts)
	b.Node("recall", recall)
	b.Node("answer", func(ctx context.Context, s graph.State) (graph.Update, error) { return answer(ctx, model, s) })
	b.Node("remember", remember)
	b.Edge(graph.Start, "recall").Edge("recall", "answer").Edge("answer", "remember")
	return b.Compile(opts)
}

// known returns the facts of a user. They don't belong to a thread.
func known(ctx context.Context, user string) store.Typed[fact] {
	return store.NewTyped[fact](graph.StoreFrom(ctx), store.Namespace{"users", user, "facts"})
}

func recall(ctx context.Context, s graph.State) (graph.Update, error) {
	found, err := known(ctx, user.Get(s)).Search(ctx, store.Query{Limit: 20})
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(found))
	for i, f := range found {
		texts[i] = f.Value.Text
	}
	return graph.Update{facts.Set(texts)}, nil
}

// window is how many messages the model gets: its context is finite, the thread isn't.
const window = 40

func answer(ctx context.Context, model llms.Model, s graph.State) (graph.Update, error) {
	prompt := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "What you know of the user:\n"+strings.Join(facts.Get(s), "\n"))}
	said := messages.Get(s)
	for _, m := range said[max(0, len(said)-window):] {
		role := llms.ChatMessageTypeHuman
		if m.Role == roleBot {
			role = llms.ChatMessageTypeAI
		}
		prompt = append(prompt, llms.TextParts(role, m.Text))
	}
	response, err := model.GenerateContent(ctx, prompt)
	if err != nil {
		return nil, err
	}
	return graph.Update{messages.Add(message{roleBot, response.Choices[0].Content})}, nil
}

var tells = regexp.MustCompile(`(?i)\bmy ([\pL ]{1,40}?) is ([^.!?]{1,80})`)

// remember notes what the user said of themselves. With a real model this is a question to the model.
func remember(ctx context.Context, s graph.State) (graph.Update, error) {
	said := messages.Get(s)
	for _, m := range tells.FindAllStringSubmatch(said[len(said)-2].Text, -1) {
		f := fact{Text: "Your " + m[1] + " is " + strings.TrimSpace(m[2]) + "."}
		if err := known(ctx, user.Get(s)).Put(ctx, strings.ToLower(m[1]), f); err != nil {
			return nil, err
		}
		graph.Emit(ctx, "noted: "+f.Text)
	}
	return nil, nil
}
