package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/benchmark"
	"github.com/llama-agent/llama-agent/config"
)

// toolNames are the tools that all systems have.
var toolNames = []string{"list_files", "read_file", "search_file", "aggregate_log_errors", "describe_sqlite_table", "query_sqlite"}

// message is one of a prompt, in the form of OpenAI's interface.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// prompt is how llama-agent asks for a plan: what stands before the task, the task, the instruction after it, and the schema of the reply.
type prompt struct {
	Messages    []message       `json:"messages"`
	Task        string          `json:"task"`
	Instruction string          `json:"instruction"`
	Schema      json.RawMessage `json:"schema"`
}

// facts are what the prompt says of the workspace: its last message before the task.
func (p *prompt) facts() string { return p.Messages[len(p.Messages)-1].Content }

// toolSpec is a tool as the peers are told of it.
type toolSpec struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Parameters  *jsonschema.Schema `json:"parameters"`
}

// toolSpecs are llama-agent's own. Arguments that need not be given are left out, as llama-agent does when it asks a small model, and
// so are bounds of texts: the grammars of some peers unfold them, and others refuse the sum of all.
func toolSpecs(c *config.Config) ([]toolSpec, error) {
	known, err := app.DescribeTools(c)
	if err != nil {
		return nil, fmt.Errorf("listing the tools: %w", err)
	}
	var list []toolSpec
	for _, name := range toolNames {
		at := slices.IndexFunc(known, func(t app.ToolInfo) bool { return t.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("listing the tools: there is no %s", name)
		}
		list = append(list, toolSpec{name, known[at].Description, essential(known[at].Parameters)})
	}
	return list, nil
}

// essential keeps the required arguments, or the first one when none is.
func essential(from *jsonschema.Schema) *jsonschema.Schema {
	names := from.Required
	if len(names) == 0 {
		names = from.PropertyOrder[:1]
	}
	out := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{}, Required: names,
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, name := range from.PropertyOrder {
		if slices.Contains(names, name) {
			p := from.Properties[name]
			out.Properties[name] = &jsonschema.Schema{Type: p.Type, Description: p.Description, Enum: p.Enum}
			out.PropertyOrder = append(out.PropertyOrder, name)
		}
	}
	return out
}

// values are llama-agent's configuration, by section.key: what differs from the defaults. The memory settings are those of make run.
func (s settings) values() map[string]any {
	return map[string]any{
		"tools.enabled_tools": toolNames, "engine.n_threads": s.threads, "engine.n_ctx": s.context, "engine.temperature": s.temperature,
		"engine.flash_attention": "on", "memory.artifact_virtualization": true, "memory.lifecycle_context": true,
	}
}

// overrides are the same as arguments of --set, in the order of their names.
func (s settings) overrides() []string {
	var list []string
	for key, value := range s.values() {
		if names, ok := value.([]string); ok {
			value = strings.Join(names, ",")
		}
		list = append(list, fmt.Sprintf("%s=%v", key, value))
	}
	slices.Sort(list)
	return list
}

// load is the configuration of llama-agent for a workspace.
func (o *options) load(workspace string) (*config.Config, error) {
	var overrides []config.Override
	for _, arg := range append(o.settings.overrides(), "engine.model_path="+o.model) {
		one, err := config.ParseOverride(arg)
		if err != nil {
			return nil, err
		}
		overrides = append(overrides, one)
	}
	// A user's own configuration would change what is measured, so that it is looked for where there is none.
	return config.Load(config.Options{Dir: workspace, UserConfigDir: workspace, Overrides: overrides})
}

// errAsked ends a task whose first question to the model is all that is wanted of it.
var errAsked = errors.New("the prompt is known")

// listener is a model that keeps what it is asked first.
type listener struct {
	messages []llms.MessageContent
	schema   json.RawMessage
}

func (l *listener) GenerateContent(_ context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	if l.messages == nil {
		var asked llms.CallOptions
		for _, option := range options {
			option(&asked)
		}
		for _, value := range asked.Metadata {
			if schema, ok := value.(json.RawMessage); ok { // see engine.WithSchema
				l.schema = schema
			}
		}
		l.messages = messages
	}
	return nil, errAsked
}

func (l *listener) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errAsked
}

func (l *listener) Close() error { return nil }

// promptFor runs llama-agent on a workspace with a model that only listens, and returns what it asks. It leaves stores behind in the
// workspace, which must be a copy.
func (o *options) promptFor(ctx context.Context, workspace, goal string) (*prompt, error) {
	c, err := o.load(workspace)
	if err != nil {
		return nil, err
	}
	heard := &listener{}
	a, err := app.Open(ctx, app.Options{Config: c, OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (app.Model, error) {
		return heard, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("asking llama-agent for its prompt: %w", err)
	}
	_, runErr := a.Run(ctx, app.Task{Goal: goal})
	if err := a.Close(); err != nil {
		return nil, fmt.Errorf("asking llama-agent for its prompt: %w", err)
	}
	if heard.messages == nil {
		return nil, fmt.Errorf("asking llama-agent for its prompt: it asked nothing: %w", runErr)
	}
	return heard.prompt(goal)
}

func (l *listener) prompt(goal string) (*prompt, error) {
	roles := map[llms.ChatMessageType]string{llms.ChatMessageTypeSystem: "system", llms.ChatMessageTypeHuman: "user", llms.ChatMessageTypeAI: "assistant"}
	p := &prompt{Schema: l.schema}
	for _, m := range l.messages {
		var text strings.Builder
		for _, part := range m.Parts {
			if t, ok := part.(llms.TextContent); ok {
				text.WriteString(t.Text)
			}
		}
		p.Messages = append(p.Messages, message{roles[m.Role], text.String()})
	}
	last := p.Messages[len(p.Messages)-1].Content
	p.Messages = p.Messages[:len(p.Messages)-1]
	p.Task = "Task: " + goal
	var ok bool
	if p.Instruction, ok = strings.CutPrefix(last, p.Task+"\n\n"); !ok || len(p.Messages) == 0 || p.Schema == nil {
		return nil, fmt.Errorf("the first prompt of llama-agent is not laid out as expected: it ends with %.200q", last)
	}
	return p, nil
}

// writeWorkspace makes the files of a case in a new folder.
func writeWorkspace(folder string, c benchmark.Case, seed int) error {
	files, err := c.Fixtures(seed)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the workspace of case %s: %w", c.ID, err)
	}
	for _, f := range files {
		path := filepath.Join(folder, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the workspace of case %s: %w", c.ID, err)
		}
		if err := os.WriteFile(path, []byte(f.Text), 0o600); err != nil {
			return fmt.Errorf("making the workspace of case %s: %w", c.ID, err)
		}
	}
	return nil
}
