package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// scriptedModel answers from a file with one reply a line. How many were used is kept beside it, so that a resumed task in
// another process gets the next one. A line is an object with one of these keys:
//
//	{"plan": [["what to do", "tool"], …]}
//	{"args": {…}}            arguments of a tool
//	{"choose": "tool"}       the tool to call, or "none"
//	{"review": "done"}       the reflector's decision; with "missing": […]
//	{"answer": "text"}       free text
//	{"raw": "text"}          any text
//	{"fail": "text"}         an error of the model
//	{"wait": "file"}         make the file, then wait until the call is cancelled; the line is used up only if it isn't
type scriptedModel struct{ path string }

func openScripted(path string) app.OpenModel {
	return func(ctx context.Context, _ *config.Config, _ *slog.Logger, loading func(float32)) (app.Model, error) {
		loading(0.5)
		return scriptedModel{path}, ctx.Err()
	}
}

type scriptedReply struct {
	Plan    [][2]string
	Args    json.RawMessage
	Choose  string
	Review  string
	Missing []string
	Answer  string
	Raw     string
	Fail    string
	Wait    string
}

func (scriptedModel) Close() error { return nil }

func (m scriptedModel) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	used := m.used()
	lines := strings.Split(strings.TrimSpace(readFile(m.path)), "\n")
	if used >= len(lines) {
		return nil, fmt.Errorf("the script has no reply %d", used+1)
	}
	var r scriptedReply
	d := json.NewDecoder(strings.NewReader(lines[used]))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("script line %d: %w", used+1, err)
	}
	if r.Wait != "" {
		if err := os.WriteFile(r.Wait, nil, 0o600); err != nil {
			return nil, err
		}
		<-ctx.Done()
		// The next process is to go on, not to wait again.
		m.use(used + 1)
		return nil, ctx.Err()
	}
	m.use(used + 1)
	if r.Fail != "" {
		return nil, errors.New(r.Fail)
	}
	text := r.text()
	if o.StreamingFunc != nil {
		for word := range strings.SplitAfterSeq(text, " ") {
			if err := o.StreamingFunc(ctx, []byte(word)); err != nil {
				return nil, err
			}
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: text, StopReason: "stop",
		GenerationInfo: map[string]any{"PromptTokens": 20000, "PromptCachedTokens": 18000, "CompletionTokens": 20},
	}}}, nil
}

func (r scriptedReply) text() string {
	var v any
	switch {
	case r.Plan != nil:
		steps := []map[string]string{}
		for _, s := range r.Plan {
			steps = append(steps, map[string]string{"do": s[0], "tool": s[1]})
		}
		v = map[string]any{"steps": steps}
	case r.Args != nil:
		v = r.Args
	case r.Choose != "":
		v = map[string]string{"tool": r.Choose}
	case r.Review != "":
		v = map[string]any{"decision": r.Review, "missing": append([]string{}, r.Missing...), "reason": "the reason"}
	default:
		return r.Answer + r.Raw
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func (m scriptedModel) used() int {
	n, _ := strconv.Atoi(readFile(m.path + ".used"))
	return n
}

func (m scriptedModel) use(n int) {
	if err := os.WriteFile(m.path+".used", []byte(strconv.Itoa(n)), 0o600); err != nil {
		panic(err)
	}
}

func (m scriptedModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// readFile returns "" for a file that does not exist.
func readFile(path string) string {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	return string(data)
}
