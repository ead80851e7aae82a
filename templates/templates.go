// Package templates holds the wording of every prompt, one file a role, and nothing else: no control flow of the agent
// depends on a word in it. The texts are in English and make no assumption about the language of a task; they ask for an
// answer in the task's own language.
package templates

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// Name is the name of one text.
type Name string

// The texts, with the type that each of them is rendered from.
const (
	System        Name = "system"         // SystemData
	Task          Name = "task"           // TaskData
	Workspace     Name = "workspace"      // WorkspaceData
	Planner       Name = "planner"        // PlannerData
	Arguments     Name = "arguments"      // ArgumentsData
	Choose        Name = "choose"         // ChooseData
	Reflector     Name = "reflector"      // ReflectorData
	Finalizer     Name = "finalizer"      // FinalizerData
	Result        Name = "result"         // ResultData
	Guide         Name = "guide"          // GuideData
	Stopped       Name = "stopped"        // nil
	Recalled      Name = "recalled"       // RecalledData
	Shortened     Name = "shortened"      // ShortenedData
	CutText       Name = "cut_text"       // CutTextData
	LeftOut       Name = "left_out"       // LeftOutData
	NoticeCut     Name = "notice_cut"     // CutData
	NoticeInvalid Name = "notice_invalid" // InvalidData
	NoticeRepeat  Name = "notice_repeat"  // RepeatData
)

// SystemData is the part of a prompt that is the same for every task with the same tools. ReadOnly tells that none of them changes
// anything of the user's.
type SystemData struct {
	Tools    []ToolData
	ReadOnly bool
}

// ToolData describes one tool in the system text.
type ToolData struct{ Signature, Description string }

// TaskData introduces a task.
type TaskData struct{ Task string }

// WorkspaceData lists what is known before the first tool call.
type WorkspaceData struct {
	Files        []FileData
	FilesLeftOut int // files that are there but not listed
	Attached     []string
	Remembered   []string
}

// FileData is one file of the workspace.
type FileData struct {
	Path, Note string // Note tells what is worth knowing, such as a kind or a great size; may be empty
	Detail     string // what is known of its content, over several lines; may be empty
}

// PlannerData asks for a plan, or with Missing for the rest of one. Known tells that the task is a later turn of a conversation.
type PlannerData struct {
	Task    string
	Missing []string
	Known   bool
	Guide   string   // skill whose instructions were just read; empty: none
	Full    bool     // the last plan had as many steps as a plan may have
	Found   []string // files in which words of the task stand
}

// ArgumentsData asks for the arguments of one tool. Again tells that the call before did not do the step.
type ArgumentsData struct {
	Task, Do, File string
	Number         int
	Again          bool
	Tool           string
	Parameters     []ParameterData
}

// ParameterData is one argument of a tool.
type ParameterData struct {
	Name, Type, Description string
	Required                bool
}

// ChooseData asks for the tool of the next call of a step. Again tells that the call before did not do the step.
type ChooseData struct {
	Task, Do string
	Number   int
	Again    bool
}

// ReflectorData asks whether the results do the task.
type ReflectorData struct {
	Task  string
	Steps []StepData
}

// StepData is one step of the plan with its state.
type StepData struct {
	Number          int
	Do, Tool, State string
}

// FinalizerData asks for the answer. Evidence tells that there are results; Problem says why the work is not complete, and Doubt what a
// review did not find. Refused are the steps that are not allowed; when there are some, Left are those that were done. Near are lines of the results that are worth repeating; Fence must not
// occur in them. Sums are numbers of several results, added up.
type FinalizerData struct {
	Task, Problem string
	Doubt         string
	Refused, Left []string
	Sums          []string
	Language      string // of the answer, or a way to name it
	Evidence      bool
	Sentences     bool // the answer is asked for in whole sentences
	Near          []SourceData
	Fence         string
}

// SourceData is a line of what Name holds.
type SourceData struct{ Name, Line string }

// ResultData wraps what a tool gave back. Fence must not occur in Text. Note, which may be empty, is about Text.
type ResultData struct {
	Tool, Text, Fence string
	Note              string
	Step              int
	Failed            bool
}

// GuideData gives the instructions of a skill.
type GuideData struct{ Tool, Text string }

// RecalledData quotes what was said and found in earlier turns. Fence must not occur in a text.
type RecalledData struct {
	Items []RecalledItem
	Fence string
}

// RecalledItem is one of them. Without a tool it is what was said.
type RecalledItem struct {
	Turn            int
	Tool, Ref, Text string
}

// ShortenedData stands below the summary of a result: the size of the whole, and its reference.
type ShortenedData struct {
	Bytes int
	Ref   string
}

// CutTextData stands where the middle of a text was dropped to fit the context.
type CutTextData struct{ Bytes int }

// LeftOutData stands where calls were dropped to fit the context.
type LeftOutData struct{ Count int }

// CutData tells that a reply ended at its cap; both limits are in tokens.
type CutData struct{ Limit, Next int }

// InvalidData tells why a reply could not be used.
type InvalidData struct{ Reason, Reply string }

// RepeatData tells that a call was not run because an equal one ran in Step.
type RepeatData struct{ Step int }

//go:embed *.md examples.json
var files embed.FS

var texts = template.Must(template.New("templates").Option("missingkey=error").ParseFS(files, "*.md"))

// Render fills the text name with data, without a line feed at the end. The same data gives the same bytes. It panics
// when name is unknown or data is of another type than the text needs: both are bugs, never a matter of input.
func Render(name Name, data any) string {
	var b strings.Builder
	if err := texts.ExecuteTemplate(&b, string(name)+".md", data); err != nil {
		panic(fmt.Sprintf("templates: rendering %s: %v", name, err))
	}
	return strings.TrimRight(b.String(), "\n")
}

// Example is a worked example of a plan.
type Example struct {
	Task  string        `json:"task"`
	About string        `json:"about"`
	Steps []ExampleStep `json:"steps"`
}

// ExampleStep is one step of an example.
type ExampleStep struct {
	File string `json:"file"`
	Tool string `json:"tool"`
	Do   string `json:"do"`
}

// Examples gives the worked examples in their order. The caller leaves out those with tools that it does not offer.
func Examples() []Example {
	text, err := files.ReadFile("examples.json")
	if err != nil {
		panic("templates: reading the examples: " + err.Error())
	}
	var examples []Example
	if err := json.Unmarshal(text, &examples); err != nil {
		panic("templates: decoding the examples: " + err.Error())
	}
	return examples
}
