package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Systems, as results and requirements call them.
const (
	own         = "llama-agent"
	llamaPython = "llama-cpp-python"
	llamaServer = "llama-server"
	nodeLlama   = "node-llama-cpp"
)

// Layouts of prompts. That of llama-agent is its own.
const (
	ownLayout = "own"
	idiomatic = "idiomatic"
	trunk     = "trunk"
)

// Kinds of records.
const (
	kindTask    = "task"    // one case, done with the model loaded and what all tasks share read before
	kindSecond  = "second"  // another task in a workspace where one was done before, by a program that was started for it
	kindKill    = "kill"    // from a start after kill -9 to the next new token
	kindProcess = "process" // a program that has ended: what it needed to load the model, and its most memory
)

// record is what came of one thing that was measured. Times are in milliseconds. Those of tasks begin when the model is loaded.
type record struct {
	Kind    string `json:"kind"`
	System  string `json:"system"`
	Version string `json:"version,omitempty"`
	Layout  string `json:"layout"`
	Case    string `json:"case_id,omitempty"`
	Round   int    `json:"round"` // from 1

	Right  bool     `json:"right"` // by the judge of the suite
	Faults []string `json:"faults,omitempty"`
	Error  string   `json:"error,omitempty"` // why there is nothing to judge

	reply

	LoadMS       float64 `json:"load_ms,omitempty"`
	PeakRSSBytes int64   `json:"peak_rss_bytes,omitempty"`
	RestartMS    float64 `json:"restart_ms,omitempty"` // from the start of the process, so with loading the model
}

// reply is how a system reports a task.
type reply struct {
	Status           string    `json:"status,omitempty"`
	Answer           string    `json:"answer,omitempty"`
	Tools            []string  `json:"tools,omitempty"`
	Results          []string  `json:"results,omitempty"`
	DurationMS       float64   `json:"duration_ms,omitempty"`
	PromptTokens     int       `json:"prompt_tokens,omitempty"`    // sent to the model
	EvaluatedTokens  int       `json:"evaluated_tokens,omitempty"` // of these, computed
	CompletionTokens int       `json:"completion_tokens,omitempty"`
	ModelCalls       int       `json:"model_calls,omitempty"`
	ToolCallMS       []float64 `json:"tool_call_ms,omitempty"`         // of each call: from the last token of the prompt to the last of the call
	FirstStepMS      float64   `json:"first_step_ms,omitempty"`        // until the first plan is there
	FirstEvaluated   int       `json:"first_step_evaluated,omitempty"` // tokens of its prompt that were computed
}

// results is a file of records, one a line. A new one replaces that of an earlier run.
type results struct {
	file *os.File
	all  []record
}

func newResults(path string) (*results, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("making the file of results: %w", err)
	}
	return &results{file: f}, nil
}

// add writes a record at once, so that it outlives whatever ends the run.
func (r *results) add(one record) error {
	one.Results = nil // for the judge only, and long
	line, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing a result: %w", err)
	}
	r.all = append(r.all, one)
	return nil
}

func (r *results) close() error { return r.file.Close() }

// readRecords reads a file of results. A last line without its end, left by a run that was stopped, is passed over.
func readRecords(path string) ([]record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer f.Close()
	var list []record
	reader := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading results: %w", err)
		}
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("reading results: %s:%d: %w; remove the line or measure again", path, number, err)
		}
		list = append(list, one)
	}
}
