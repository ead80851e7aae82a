package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/templates"
	"github.com/llama-agent/llama-agent/tools"
)

// Facts are what the model knows of the workspace before its first call. They are stored with the task, so that a resumed
// task has the same prompt.
type Facts struct {
	Files        []File   `json:"files,omitempty"` // in the order in which they are shown
	FilesLeftOut int      `json:"files_left_out,omitempty"`
	Attached     []string `json:"attached,omitempty"`   // paths the user attached to the task
	Mentioned    []string `json:"mentioned,omitempty"`  // other paths that the task names, which a step may be about
	Remembered   []string `json:"remembered,omitempty"` // explicit memories, one line each
	Restated     bool     `json:"restated,omitempty"`   // the task seems to give a new value for one of these
	Found        []Found  `json:"found,omitempty"`      // files in which words of the task stand, the best first
}

// namesUnread reports whether a text names a file that no call of earlier turns was about.
func (f Facts) namesUnread(text string, history []Turn) bool {
	return slices.ContainsFunc(f.Files, func(file File) bool {
		if !(Facts{Files: []File{file}}).NamedIn(text) {
			return false
		}
		return !slices.ContainsFunc(history, func(t Turn) bool {
			return slices.ContainsFunc(callsOf(t.Entries), func(c Call) bool { return strings.Contains(string(c.Arguments), file.Path) })
		})
	})
}

// Found is a file in which words of the task stand close together.
type Found struct {
	Path  string   `json:"path"`
	Words []string `json:"words"`
}

// NamedIn reports whether a text names one of the files, by its path or by the last part of it.
func (f Facts) NamedIn(text string) bool {
	return len(f.Attached)+len(f.Mentioned) > 0 || slices.ContainsFunc(f.Files, func(file File) bool {
		name := file.Path[strings.LastIndexByte(file.Path, '/')+1:]
		return strings.Contains(text, file.Path) || strings.Contains(name, ".") && strings.Contains(text, name)
	})
}

// File is a file of the workspace, by its path relative to it.
type File struct {
	Path   string `json:"path"`
	Kind   string `json:"kind,omitempty"` // as the tool list_files calls it
	Bytes  int64  `json:"bytes"`
	Detail string `json:"detail,omitempty"` // what is known of its content, such as the tables of a database; several lines
}

// notableBytes is a size worth telling the model: a file that it should search rather than read.
const notableBytes = 32 << 10

// note says what sets a file apart from a short text file. Each word here costs tokens of every prompt.
func (f File) note() string {
	var notes []string
	text := tools.SubjectOf(f.Kind, f.Path).IsText()
	if !text || f.Kind == "gzip" || f.Kind == tools.KindTable {
		notes = append(notes, oneLine(f.Kind))
	}
	if f.Bytes >= notableBytes && text {
		notes = append(notes, fmt.Sprintf("%d KiB", f.Bytes>>10))
	}
	return strings.Join(notes, ", ")
}

// trunk is the prompt that all model calls of a task share:
//
//	system:    rules and tools                     the same for every task with the same tools,
//	…          worked examples, as turns           as these are
//	system:    the workspace
//	…          earlier turns of the conversation
//	user:      what is recalled from further back, and the task
//	assistant: plans, calls and reviews
//	user:      results, fenced as data
//	user:      the role's instruction, last
//
// Neighbours of one role become one message, because many chat templates insist on alternation. The text of a message only
// ever grows at its end, so that the prompt without its last instruction is a prefix of the next prompt.
type trunk struct {
	system    string
	examples  []example
	workspace string
	history   []Turn
	recalled  string // before the task; may be empty
	task      string
	entries   []Entry
	fitting   fitting
}

func newTrunk(registry *tools.Registry, facts Facts, b Background, goal string) trunk {
	return trunk{
		system: systemText(registry.Specs()), examples: examplesFor(registry.Specs()), workspace: workspaceText(facts),
		history: b.History, recalled: recalledText(b.Recalled), task: taskText(goal),
	}
}

func taskText(goal string) string {
	return templates.Render(templates.Task, templates.TaskData{Task: goal})
}

// example is a worked example: a question for a plan, and the plan.
type example struct{ question, plan string }

// examplesFor returns the worked examples whose tools are all offered.
func examplesFor(specs []tools.Spec) []example {
	var out []example
	offered := make([]string, len(specs))
	for i, s := range specs {
		offered[i] = s.Name
	}
	for _, e := range templates.Examples() {
		planned := make([]plannedStep, len(e.Steps))
		known := true
		for i, s := range e.Steps {
			planned[i] = plannedStep(s)
			known = known && (s.Tool == NoTool || slices.Contains(offered, s.Tool))
		}
		if known {
			ask := templates.Render(templates.Planner, templates.PlannerData{Task: e.Task})
			out = append(out, example{taskText(e.Task) + "\n\n" + ask, planText(about(e.About), planned)})
		}
	}
	return out
}

// onlyRead reports whether no tool changes anything of the user's. What the agent itself remembers is not that.
func onlyRead(specs []tools.Spec) bool {
	return !slices.ContainsFunc(specs, func(s tools.Spec) bool { return !s.ReadOnly && !only(s, tools.SubjectFact) })
}

func systemText(specs []tools.Spec) string {
	data := templates.SystemData{ReadOnly: len(specs) > 0 && onlyRead(specs)}
	for _, spec := range specs {
		data.Tools = append(data.Tools, templates.ToolData{Signature: signature(spec), Description: spec.Description})
	}
	return templates.Render(templates.System, data)
}

func workspaceText(facts Facts) string {
	data := templates.WorkspaceData{FilesLeftOut: facts.FilesLeftOut}
	for _, memory := range facts.Remembered { // of any text, that must not look like a part of the prompt
		data.Remembered = append(data.Remembered, oneLine(memory))
	}
	for _, path := range facts.Attached {
		data.Attached = append(data.Attached, oneLine(path))
	}
	for _, f := range facts.Files {
		data.Files = append(data.Files, templates.FileData{Path: oneLine(f.Path), Note: f.note(), Detail: f.Detail})
	}
	return templates.Render(templates.Workspace, data)
}

// messages renders the trunk with the instruction of a role. It depends on nothing but its input.
func (t trunk) messages(instruction string) []llms.MessageContent {
	var m messageBuilder
	m.add(llms.ChatMessageTypeSystem, t.system)
	for _, e := range t.examples {
		m.addApart(llms.ChatMessageTypeHuman, e.question)
		m.addApart(llms.ChatMessageTypeAI, e.plan)
	}
	m.addApart(llms.ChatMessageTypeSystem, t.workspace)
	for _, turn := range t.history[min(t.fitting.Turns, len(t.history)):] {
		turn.write(&m)
	}
	if t.recalled != "" && !t.fitting.Unquoted {
		m.add(llms.ChatMessageTypeHuman, t.recalled)
	}
	m.add(llms.ChatMessageTypeHuman, t.task)
	if calls := len(callsOf(t.entries[:t.fitting.Dropped])); calls > 0 {
		m.add(llms.ChatMessageTypeHuman, templates.Render(templates.LeftOut, templates.LeftOutData{Count: calls}))
	}
	for i := t.fitting.Dropped; i < len(t.entries); i++ {
		switch e := t.entries[i]; {
		case e.Call != nil:
			m.add(llms.ChatMessageTypeAI, callText(e.Call))
			m.add(llms.ChatMessageTypeHuman, resultText(e.Call, t.fitting.text(i, e.Call)))
		case e.Review != nil && t.fitting.summarized(i):
			m.add(llms.ChatMessageTypeAI, compactJSON(Review{Decision: e.Review.Decision, Missing: e.Review.Missing}))
		case e.Review != nil:
			m.add(llms.ChatMessageTypeAI, compactJSON(e.Review))
		default:
			m.add(llms.ChatMessageTypeAI, planText(e.About, e.Plan))
		}
	}
	m.add(llms.ChatMessageTypeHuman, instruction)
	return m.messages()
}

// messageBuilder joins neighbours of one role.
type messageBuilder struct {
	roles []llms.ChatMessageType
	texts []string
}

func (m *messageBuilder) add(role llms.ChatMessageType, text string) {
	if n := len(m.roles); n > 0 && m.roles[n-1] == role {
		m.texts[n-1] += "\n\n" + text
		return
	}
	m.addApart(role, text)
}

func (m *messageBuilder) addApart(role llms.ChatMessageType, text string) {
	m.roles = append(m.roles, role)
	m.texts = append(m.texts, text)
}

func (m *messageBuilder) messages() []llms.MessageContent {
	out := make([]llms.MessageContent, len(m.roles))
	for i, role := range m.roles {
		out[i] = llms.TextParts(role, m.texts[i])
	}
	return out
}

func callText(c *Call) string {
	return compactJSON(struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}{c.Tool, c.Arguments})
}

func resultText(c *Call, text string) string {
	if c.Guide {
		return templates.Render(templates.Guide, templates.GuideData{Tool: oneLine(c.Tool), Text: strings.TrimRight(text, "\n")})
	}
	note := ""
	if c.Record != "" && text == c.Summary { // what stands inside the fence could be the file's own words
		if at := strings.LastIndexByte(text, '\n'); at >= 0 {
			text, note = text[:at], text[at+1:]
		}
	}
	return templates.Render(templates.Result, templates.ResultData{
		Tool: oneLine(c.Tool), Step: c.Step, Failed: c.Error != nil, Text: strings.TrimRight(text, "\n"), Fence: fence(text), Note: note,
	})
}

// fence returns a run of backquotes longer than any in text, so that no text can end its own block.
func fence(text string) string {
	longest, run := 0, 0
	for _, b := range []byte(text) {
		if b != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", max(3, longest+1))
}

// compactJSON encodes v without HTML escapes, which would only cost tokens.
func compactJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("agent: encoding %T: %v", v, err)) // only types of this package get here
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine makes a name safe to stand in a line of its own: control characters become blanks.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
