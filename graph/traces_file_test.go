package graph_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A traceFile is one scenario: a graph, operations on it, and what LangGraph did. testdata/langgraph/README.md describes the
// format. Whatever this package doesn't know in a file makes reading it fail.
type traceFile struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Note     string   `json:"note"`
	Features []string `json:"features"`

	Graph    traceGraph `json:"graph"`
	Ops      []traceOp  `json:"ops"`
	Observed struct {
		Storage map[string][]traceSpace `json:"storage"`
		Error   map[string]any          `json:"error"`
	} `json:"observed"`
}

type traceGraph struct {
	Channels        []traceChannelSpec     `json:"channels"`
	Nodes           []traceNode            `json:"nodes"`
	Edges           []traceEdge            `json:"edges"`
	Branches        []traceBranch          `json:"branches"`
	InterruptBefore []string               `json:"interrupt_before"`
	InterruptAfter  []string               `json:"interrupt_after"`
	Input           []string               `json:"input"`
	Output          []string               `json:"output"`
	Checkpointer    string                 `json:"checkpointer"`
	Graphs          map[string]*traceGraph `json:"graphs"`
}

type traceChannelSpec struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type traceNode struct {
	Name   string          `json:"name"`
	Visits [][]traceAction `json:"visits"`
	Defer  bool            `json:"defer"`
	Retry  *traceRetry     `json:"retry"`
	Reads  []string        `json:"reads"`
	Graph  *traceGraph     `json:"graph"`
}

type traceRetry struct {
	MaxAttempts int      `json:"max_attempts"`
	RetryOn     []string `json:"retry_on"`
}

// traceEdge is a plain edge, with one source, or a list edge.
type traceEdge struct {
	from []string
	list bool
	to   string
}

func (e *traceEdge) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("edge %s has %d parts", data, len(parts))
	}
	var from string
	if err := json.Unmarshal(parts[0], &from); err == nil {
		e.from = []string{from}
	} else {
		e.list = true
		if err := json.Unmarshal(parts[0], &e.from); err != nil {
			return err
		}
	}
	return json.Unmarshal(parts[1], &e.to)
}

type traceBranch struct {
	From  string `json:"from"`
	Name  string `json:"name"`
	Cases []struct {
		If any `json:"if"`
		To any `json:"to"`
	} `json:"cases"`
}

type traceAction struct {
	Do      string        `json:"do"`
	Update  any           `json:"update"`
	Goto    any           `json:"goto"`
	Parent  bool          `json:"parent"`
	Value   any           `json:"value"`
	As      string        `json:"as"`
	Graph   string        `json:"graph"`
	Input   any           `json:"input"`
	Kind    string        `json:"kind"`
	Message string        `json:"message"`
	Text    string        `json:"text"`
	Cond    any           `json:"cond"`
	Then    []traceAction `json:"then"`
	Else    []traceAction `json:"else"`
	Node    string        `json:"node"`
	Count   int           `json:"count"`
}

// traceOp is one operation. Fields whose absence differs from null are raw.
type traceOp struct {
	Op        string   `json:"op"`
	Thread    string   `json:"thread"`
	Modes     []string `json:"modes"`
	Subgraphs bool     `json:"subgraphs"`

	Input           json.RawMessage `json:"input"`
	Resume          json.RawMessage `json:"resume"`
	ResumeByID      map[string]any  `json:"resume_by_id"`
	Update          any             `json:"update"`
	Goto            any             `json:"goto"`
	Checkpoint      *int            `json:"checkpoint"`
	RecursionLimit  *int            `json:"recursion_limit"`
	InterruptBefore []string        `json:"interrupt_before"`
	InterruptAfter  []string        `json:"interrupt_after"`
	Durability      string          `json:"durability"`

	Values json.RawMessage `json:"values"`
	AsNode *string         `json:"as_node"`

	Observed any `json:"observed"`
}

// command reports whether the operation runs the graph with a command as its input.
func (op *traceOp) command() bool {
	return op.Resume != nil || op.ResumeByID != nil || op.Update != nil || op.Goto != nil
}

// showsQuestions reports whether questions of the run are seen at all.
func (op *traceOp) showsQuestions() bool {
	return op.Op == "invoke" || slices.Contains(op.Modes, "updates") || slices.Contains(op.Modes, "values")
}

// runs reports whether the operation runs the graph.
func (op *traceOp) runs() bool { return op.Op == "invoke" || op.Op == "stream" }

// traceSpace is what one namespace of a thread stores.
type traceSpace struct {
	NS          []string `json:"ns"`
	Checkpoints []any    `json:"checkpoints"`
}

// The words of the format.
var (
	traceFeatures  = []string{"untracked", "topic", "overwrite", "schemas", "durability", "checkpoints_mode", "compile_error"}
	traceKinds     = []string{"last", "append", "sum", "max", "concat", "any", "ephemeral", "untracked", "topic", "topic_accumulate"}
	traceActions   = []string{"update", "command", "nothing", "return_value", "interrupt", "invoke", "raise", "raise_once", "custom", "mark", "if", "wait_for"}
	traceValues    = []string{"$in", "$input", "$var", "$item", "$visit", "$get", "$add", "$cat", "$len", "$overwrite"}
	traceConds     = []string{"eq", "lt", "not"}
	traceErrors    = []string{"fatal", "transient"}
	traceOps       = []string{"invoke", "stream", "get_state", "history", "update_state"}
	traceModes     = []string{"updates", "values", "custom", "tasks", "checkpoints"}
	traceRootSaver = []string{"", "saver", "none"}
	traceSubSaver  = []string{"", "inherit", "own", "none"}
)

func readTrace(path string) (*traceFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseTrace(data)
}

func parseTrace(data []byte) (*traceFile, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	f := &traceFile{}
	if err := dec.Decode(f); err != nil {
		return nil, err
	}
	c := &traceChecker{}
	for _, feature := range f.Features {
		c.word("feature", feature, traceFeatures)
	}
	c.word("root checkpointer", f.Graph.Checkpointer, traceRootSaver)
	c.graph(&f.Graph, true)
	for i := range f.Ops {
		c.op(&f.Ops[i])
	}
	if len(c.unknown) > 0 {
		return nil, fmt.Errorf("scenario %s has parts that aren't known: %s", f.Name, strings.Join(c.unknown, "; "))
	}
	return f, nil
}

// traceChecker lists what a scenario has that the format doesn't know.
type traceChecker struct{ unknown []string }

func (c *traceChecker) fail(format string, args ...any) {
	c.unknown = append(c.unknown, fmt.Sprintf(format, args...))
}

func (c *traceChecker) word(what, word string, known []string) {
	if !slices.Contains(known, word) {
		c.fail("%s %q", what, word)
	}
}

func (c *traceChecker) graph(g *traceGraph, root bool) {
	if !root {
		c.word("subgraph checkpointer", g.Checkpointer, traceSubSaver)
	}
	for _, ch := range g.Channels {
		c.word("channel kind", ch.Kind, traceKinds)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Graph != nil {
			c.graph(n.Graph, false)
		}
		for _, v := range n.Visits {
			c.actions(v)
		}
		if n.Retry != nil {
			for _, k := range n.Retry.RetryOn {
				c.word("error kind", k, traceErrors)
			}
		}
	}
	for _, b := range g.Branches {
		for _, cs := range b.Cases {
			if cs.If != nil {
				c.cond(cs.If)
			}
			c.targets(cs.To)
		}
	}
	for _, sub := range g.Graphs {
		c.graph(sub, false)
	}
}

func (c *traceChecker) actions(list []traceAction) {
	for i := range list {
		a := &list[i]
		c.word("action", a.Do, traceActions)
		c.value(a.Update)
		c.value(a.Value)
		c.value(a.Input)
		c.targets(a.Goto)
		switch a.Do {
		case "if":
			c.cond(a.Cond)
			c.actions(a.Then)
			c.actions(a.Else)
		case "raise", "raise_once":
			c.word("error kind", a.Kind, traceErrors)
		}
	}
}

func (c *traceChecker) value(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			c.value(item)
		}
	case map[string]any:
		for key, item := range v {
			if len(v) == 1 && strings.HasPrefix(key, "$") {
				c.word("value", key, traceValues)
			}
			c.value(item)
		}
	}
}

func (c *traceChecker) cond(v any) {
	m, _ := v.(map[string]any)
	if len(m) != 1 {
		c.fail("condition %v", v)
	}
	for key, arg := range m {
		c.word("condition", key, traceConds)
		if key == "not" {
			c.cond(arg)
		} else {
			c.value(arg)
		}
	}
}

func (c *traceChecker) targets(v any) {
	switch v := v.(type) {
	case nil, string:
	case []any:
		for _, item := range v {
			c.targets(item)
		}
	case map[string]any:
		for key, item := range v {
			c.word("target field", key, []string{"send", "arg", "each"})
			c.value(item)
		}
	default:
		c.fail("target %v", v)
	}
}

func (c *traceChecker) op(op *traceOp) {
	c.word("operation", op.Op, traceOps)
	for _, m := range op.Modes {
		c.word("mode", m, traceModes)
	}
	c.word("durability", op.Durability, []string{"", "sync", "async", "exit"})
	c.targets(op.Goto)
	c.value(op.Update)
	switch observed := op.Observed.(type) {
	case map[string]any:
		for key, v := range observed {
			c.word("observation", key, observedKeys[op.Op])
			if key == "events" {
				c.events(v)
			}
		}
		if op.Op == "get_state" {
			c.snapshot(observed)
		}
	case []any:
		if op.Op != "history" {
			c.fail("observation %v of %s", observed, op.Op)
		}
		for _, s := range observed {
			c.snapshot(s)
		}
	default:
		c.fail("observation %v of %s", observed, op.Op)
	}
}

var (
	snapshotKeys = []string{"values", "next", "step", "source", "checkpoint", "parent", "tasks", "interrupts", "exists", "error"}
	observedKeys = map[string][]string{
		"invoke":       {"values", "error", "interrupts", "ran", "marks"},
		"stream":       {"values", "error", "interrupts", "ran", "marks", "events"},
		"get_state":    snapshotKeys,
		"history":      {"error"},
		"update_state": {"checkpoint", "error"},
	}
)

func (c *traceChecker) snapshot(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail("snapshot %v", v)
		return
	}
	for key := range m {
		c.word("snapshot field", key, append([]string{"ns"}, snapshotKeys...))
	}
	tasks, _ := m["tasks"].([]any)
	for _, t := range tasks {
		t, _ := t.(map[string]any)
		for key, v := range t {
			c.word("task field", key, []string{"node", "result", "error", "interrupts", "state"})
			if key == "state" {
				c.snapshot(v)
			}
		}
	}
}

func (c *traceChecker) events(v any) {
	list, _ := v.([]any)
	for _, e := range list {
		e, _ := e.(map[string]any)
		mode, _ := e["mode"].(string)
		fields := map[string][]string{
			"tasks":       {"mode", "ns", "task", "node", "start", "end"},
			"checkpoints": {"mode", "ns", "checkpoint", "parent", "step", "source", "values", "next"},
		}[mode]
		if fields == nil {
			c.word("event mode", mode, traceModes)
			fields = []string{"mode", "ns", "data"}
		}
		for key := range e {
			c.word("event field", key, fields)
		}
	}
}
