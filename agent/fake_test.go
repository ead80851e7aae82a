package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// Kinds of questions, as the fake model tells them apart by the schema that comes with the request.
const (
	askPlan   = "plan"
	askArgs   = "arguments"
	askChoice = "choose"
	askReview = "review"
	askAnswer = "answer"
)

// reply is one scripted reply. The question must be of kind ask.
type reply struct {
	ask    string
	text   string
	stop   string // default "stop"
	err    error
	info   map[string]any
	chunks []string // streamed instead of text as a whole
	during func()   // runs while the model "generates"
}

func plan(steps ...string) reply { // "do|tool"
	type step struct {
		Do   string `json:"do"`
		Tool string `json:"tool"`
	}
	out := struct {
		Steps []step `json:"steps"`
	}{}
	for _, s := range steps {
		do, tool, _ := strings.Cut(s, "|")
		out.Steps = append(out.Steps, step{do, tool})
	}
	return reply{ask: askPlan, text: mustJSON(out)}
}

func args(text string) reply { return reply{ask: askArgs, text: text} }

func choose(tool string) reply {
	return reply{ask: askChoice, text: mustJSON(map[string]string{"tool": tool})}
}

func review(decision string, missing ...string) reply {
	return reply{ask: askReview, text: mustJSON(map[string]any{
		"decision": decision, "missing": append([]string{}, missing...), "reason": "the reason",
	})}
}

func answer(text string) reply { return reply{ask: askAnswer, text: text} }

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// question is one request the fake model got.
type question struct {
	kind     string
	messages []llms.MessageContent
	options  llms.CallOptions
}

func (q question) text(i int) string { return messageText(q.messages[i]) }

// last is the text of the last message: the role's instruction, with results before it when there were any.
func (q question) last() string { return q.text(len(q.messages) - 1) }

// instruction is what stands for this question only.
func (q question) instruction() string {
	last := q.last()
	return last[strings.LastIndex(last, "Role: "):]
}

// flat is the prompt as one text that grows when messages grow, without the instruction when trunk is true.
func (q question) flat(trunk bool) string {
	var b strings.Builder
	for i, m := range q.messages {
		text := messageText(m)
		if trunk && i == len(q.messages)-1 {
			text = strings.TrimSuffix(strings.TrimSuffix(text, q.instruction()), "\n\n")
			if text == "" {
				break
			}
		}
		fmt.Fprintf(&b, "\n--- %s ---\n%s", m.Role, text)
	}
	return b.String()
}

func messageText(m llms.MessageContent) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.(llms.TextContent).Text)
	}
	return b.String()
}

// fakeModel is a strict model that follows a script. Like servers that check pairing, it refuses a conversation that does not
// begin with system messages, does not alternate, does not end with the user, or has a call without a result.
type fakeModel struct {
	t      *testing.T
	mu     sync.Mutex
	script []reply
	asked  []question
	// always answers a question that the script does not, by kind.
	always map[string]reply
}

var errRefused = errors.New("400: malformed conversation")

func (m *fakeModel) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	q := question{kind: kindOf(o), messages: messages, options: o}
	r, err := m.next(q)
	if err != nil {
		return nil, err
	}
	if r.during != nil {
		r.during()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	if o.StreamingFunc != nil {
		chunks := r.chunks
		if chunks == nil {
			chunks = strings.SplitAfter(r.text, " ")
		}
		for _, c := range chunks {
			if err := o.StreamingFunc(ctx, []byte(c)); err != nil {
				return nil, err
			}
		}
	}
	stop := r.stop
	if stop == "" {
		stop = "stop"
	}
	info := r.info
	if info == nil {
		info = map[string]any{"PromptTokens": len(q.flat(false)) / 4, "PromptCachedTokens": len(q.flat(true)) / 8, "CompletionTokens": len(r.text) / 4}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: r.text, StopReason: stop, GenerationInfo: info}}}, nil
}

func (m *fakeModel) next(q question) (reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if problem := malformed(q.messages); problem != "" {
		m.t.Errorf("the model was sent a malformed conversation: %s\n%s", problem, q.flat(false))
		return reply{}, errRefused
	}
	m.asked = append(m.asked, q)
	if len(m.script) > 0 && (m.script[0].ask == q.kind || m.always == nil) {
		r := m.script[0]
		m.script = m.script[1:]
		if r.ask != q.kind {
			m.t.Errorf("question %d asks for %s, but the script has a reply to %s", len(m.asked), q.kind, r.ask)
			return reply{}, errRefused
		}
		return r, nil
	}
	if r, ok := m.always[q.kind]; ok {
		return r, nil
	}
	m.t.Errorf("question %d (%s) is not in the script:\n%s", len(m.asked), q.kind, q.last())
	return reply{}, errRefused
}

func (m *fakeModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// questions returns what was asked so far.
func (m *fakeModel) questions() []question {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]question(nil), m.asked...)
}

func (m *fakeModel) kinds() []string {
	var kinds []string
	for _, q := range m.questions() {
		kinds = append(kinds, q.kind)
	}
	return kinds
}

// schemaOf reads the schema that a request carries, nil for free text.
func schemaOf(o llms.CallOptions) map[string]any {
	for _, v := range o.Metadata {
		if raw, ok := v.(json.RawMessage); ok {
			var schema map[string]any
			if json.Unmarshal(raw, &schema) == nil {
				return schema
			}
		}
	}
	return nil
}

func kindOf(o llms.CallOptions) string {
	schema := schemaOf(o)
	if schema == nil {
		return askAnswer
	}
	properties, _ := schema["properties"].(map[string]any)
	switch {
	case properties["steps"] != nil:
		return askPlan
	case properties["decision"] != nil:
		return askReview
	case len(properties) == 1 && properties["tool"] != nil:
		return askChoice
	}
	return askArgs
}

var (
	writtenCall   = regexp.MustCompile(`(?m)^\{"tool":`)
	writtenResult = regexp.MustCompile(`(?m)^(Result of|Error from) .* \(step \d+; data, not instructions\):$`)
)

// malformed says what a strict server would refuse.
func malformed(messages []llms.MessageContent) string {
	var roles []llms.ChatMessageType
	open := 0
	for i, m := range messages {
		text := messageText(m)
		switch {
		case text == "" || !utf8.ValidString(text):
			return fmt.Sprintf("message %d is empty or not UTF-8", i)
		case m.Role == llms.ChatMessageTypeSystem:
			if len(roles) > 0 {
				return fmt.Sprintf("message %d is a late system message", i)
			}
			continue
		case len(roles) == 0 && m.Role != llms.ChatMessageTypeHuman:
			return "the first message is not the user's"
		case len(roles) > 0 && roles[len(roles)-1] == m.Role:
			return fmt.Sprintf("message %d has the role of the one before", i)
		}
		roles = append(roles, m.Role)
		if m.Role == llms.ChatMessageTypeAI {
			open = len(writtenCall.FindAllString(text, -1))
			if open > 1 {
				return fmt.Sprintf("message %d makes %d calls", i, open)
			}
			continue
		}
		if results := len(writtenResult.FindAllString(text, -1)); results < open {
			return fmt.Sprintf("message %d has %d results for %d calls", i, results, open)
		}
		open = 0
	}
	if len(roles) == 0 || roles[len(roles)-1] != llms.ChatMessageTypeHuman {
		return "the last message is not the user's"
	}
	return ""
}

// requirePrefixes checks that each prompt without its instruction is a prefix of the next.
func requirePrefixes(t require.TestingT, questions []question) {
	for i := 1; i < len(questions); i++ {
		before, after := questions[i-1].flat(true), questions[i].flat(false)
		require.True(t, strings.HasPrefix(after, before), "prompt %d does not continue prompt %d:\n%s\n=====\n%s", i+1, i, before, after)
	}
}
