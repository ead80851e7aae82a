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

	"github.com/llama-agent/llama-agent/agent"
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

func plan(steps ...string) reply { // "do|tool", or "do|tool|file"
	type step struct {
		File string `json:"file"`
		Tool string `json:"tool"`
		Do   string `json:"do"`
	}
	out := struct {
		Steps []step `json:"steps"`
	}{}
	for _, s := range steps {
		do, rest, _ := strings.Cut(s, "|")
		tool, file, found := strings.Cut(rest, "|")
		if !found {
			file = agent.NoFile
		}
		out.Steps = append(out.Steps, step{file, tool, do})
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

// tool is the tool whose arguments are asked for.
func (q question) tool() string {
	if m := askedTool.FindStringSubmatch(q.instruction()); m != nil {
		return m[1]
	}
	return ""
}

// system returns the texts of the system messages: the rules and the workspace.
func (q question) system() []string {
	var texts []string
	for _, m := range q.messages {
		if m.Role == llms.ChatMessageTypeSystem {
			texts = append(texts, messageText(m))
		}
	}
	return texts
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

// fakeModel is a strict model that follows a script. Like servers that check pairing, it refuses a conversation that is not the
// rules, whole worked examples, the workspace, and then the turns of a task; and turns that do not alternate, do not end with
// the user, or have a call without a result.
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

// schemaText is the schema that a request carries as it is sent, empty for free text.
func schemaText(o llms.CallOptions) string {
	for _, v := range o.Metadata {
		if raw, ok := v.(json.RawMessage); ok {
			return string(raw)
		}
	}
	return ""
}

func kindOf(o llms.CallOptions) string {
	text := schemaText(o)
	if text == "" {
		return askAnswer
	}
	var schema struct {
		Properties map[string]any
		AnyOf      []any
	}
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		panic(err) // a schema that is no JSON is a bug of the agent
	}
	properties := schema.Properties
	switch {
	case schema.AnyOf != nil && properties == nil, properties["about"] != nil: // forms of which one has steps, and one says what it is about only
		return askPlan
	case properties["decision"] != nil:
		return askReview
	case len(properties) == 1 && properties["tool"] != nil:
		return askChoice
	case len(properties) == 1 && properties["answer"] != nil:
		return askAnswer
	}
	return askArgs
}

var (
	askedTool     = regexp.MustCompile(`(?m)^Reply with the arguments of (\S+) for this step`)
	writtenCall   = regexp.MustCompile(`(?m)^\{"tool":`)
	writtenResult = regexp.MustCompile(`(?m)^(Result of|Error from) .* \(step \d+; data, not instructions\):$`)
)

// malformed says what a strict server would refuse.
func malformed(messages []llms.MessageContent) string {
	var system []int
	for i, m := range messages {
		if text := messageText(m); text == "" || !utf8.ValidString(text) {
			return fmt.Sprintf("message %d is empty or not UTF-8", i)
		}
		if m.Role == llms.ChatMessageTypeSystem {
			system = append(system, i)
		}
	}
	if len(system) != 2 || system[0] != 0 || !strings.HasPrefix(messageText(messages[system[1]]), "Workspace") {
		return fmt.Sprintf("the system messages are %v, not the rules first and one more with the workspace", system)
	}
	examples, task := messages[1:system[1]], messages[system[1]+1:]
	if problem := unpaired(examples); problem != "" {
		return "in the worked examples, " + problem
	}
	for i, m := range examples {
		if i%2 == 1 && !strings.HasPrefix(messageText(m), `{"about":"`) {
			return fmt.Sprintf("worked example %d does not end with a plan", i/2+1)
		}
	}
	if len(examples)%2 != 0 {
		return "a worked example has no reply"
	}
	if problem := unpaired(task); problem != "" {
		return "in the task, " + problem
	}
	if len(task)%2 != 1 {
		return "the last message is not the user's"
	}
	return ""
}

// unpaired says where turns do not alternate, beginning with the user, or where a call has no result.
func unpaired(turns []llms.MessageContent) string {
	open := 0
	for i, m := range turns {
		want := llms.ChatMessageTypeHuman
		if i%2 == 1 {
			want = llms.ChatMessageTypeAI
		}
		if m.Role != want {
			return fmt.Sprintf("turn %d has the role %s, not %s", i, m.Role, want)
		}
		text := messageText(m)
		if m.Role == llms.ChatMessageTypeAI {
			open = len(writtenCall.FindAllString(text, -1))
			if open > 1 {
				return fmt.Sprintf("turn %d makes %d calls", i, open)
			}
			continue
		}
		if results := len(writtenResult.FindAllString(text, -1)); results < open {
			return fmt.Sprintf("turn %d has %d results for %d calls", i, results, open)
		}
		open = 0
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
