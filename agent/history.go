package agent

import (
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/templates"
)

// Turn is an earlier turn of a conversation as later turns see it.
type Turn struct {
	Number  int     `json:"number"`
	Goal    string  `json:"goal"`
	Entries []Entry `json:"entries,omitempty"` // the calls with their results, and the plans that led to them
	Answer  string  `json:"answer,omitempty"`  // empty: the turn was stopped
	Tokens  int     `json:"tokens,omitempty"`  // of the turn in a prompt, 0 when they are not counted
}

// turnResultBytes is how much of a result later turns see; of a larger one the beginning and the end.
const turnResultBytes = 2000

// turnOf makes of a task's state the turn that later turns see. Entries that brought no result are left out: reviews, plans
// without a call after them, and calls that were refused as repeats.
func turnOf(s graph.State) Turn {
	t := Turn{Goal: taskChannel.Get(s).Goal, Answer: answerChannel.Get(s)}
	var plan *Entry
	for _, e := range transcriptChannel.Get(s) {
		switch {
		case e.Plan != nil:
			plan = &e
		case e.Call != nil && !e.Call.Skipped:
			if plan != nil {
				t.Entries = append(t.Entries, *plan)
				plan = nil
			}
			call := *e.Call
			if call.Record != "" {
				call.Text = call.Summary
			}
			call.Text, call.Result = cutMiddle(call.Text, turnResultBytes), nil
			t.Entries = append(t.Entries, Entry{Call: &call})
		}
	}
	return t
}

// write adds the turn to a prompt. A call is never without its result, and a turn never without a reply.
func (t Turn) write(m *messageBuilder) {
	m.add(llms.ChatMessageTypeHuman, taskText(t.Goal))
	for _, e := range t.Entries {
		if e.Call == nil {
			m.add(llms.ChatMessageTypeAI, planText(e.About, e.Plan))
			continue
		}
		m.add(llms.ChatMessageTypeAI, callText(e.Call))
		m.add(llms.ChatMessageTypeHuman, resultText(e.Call, e.Call.Text))
	}
	answer := t.Answer
	if answer == "" {
		answer = templates.Render(templates.Stopped, nil)
	}
	m.add(llms.ChatMessageTypeAI, answer)
}

// messages are the turn as a conversation of its own, for counting its tokens.
func (t Turn) messages() []llms.MessageContent {
	var m messageBuilder
	t.write(&m)
	return m.messages()
}

// Recalled is something from further back in a conversation that the task may need.
type Recalled struct {
	Turn int    `json:"turn"`           // that it comes from
	Tool string `json:"tool,omitempty"` // whose result it is; empty: what was said
	Ref  string `json:"ref,omitempty"`  // of the whole, for recall_memory
	Text string `json:"text"`
}

// recalledText quotes what was recalled, as data.
func recalledText(recalled []Recalled) string {
	if len(recalled) == 0 {
		return ""
	}
	data := templates.RecalledData{}
	all := ""
	for _, r := range recalled {
		data.Items = append(data.Items, templates.RecalledItem{Turn: r.Turn, Tool: oneLine(r.Tool), Ref: oneLine(r.Ref), Text: r.Text})
		all += r.Text
	}
	data.Fence = fence(all)
	return templates.Render(templates.Recalled, data)
}

func recalledMessages(recalled []Recalled) []llms.MessageContent {
	return []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, recalledText(recalled))}
}

// artifactsIn are the references of stored results in earlier turns, oldest first.
func artifactsIn(turns []Turn) []string {
	var refs []string
	for _, t := range turns {
		for _, c := range callsOf(t.Entries) {
			if c.Artifact != "" && !slices.Contains(refs, c.Artifact) {
				refs = append(refs, c.Artifact)
			}
		}
	}
	return refs
}
