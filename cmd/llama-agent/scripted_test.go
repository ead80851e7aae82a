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
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// scriptedModel answers from a file with one reply a line. How many were used is kept beside it, so that a resumed task in
// another process gets the next one. A line is an object with one of these keys:
//
//	{"plan": [["what to do", "tool"], …]}
//	{"args": {…}}            arguments of a tool
//	{"answer": "text"}       free text; with "until": "file" it is said again and again until there is such a file
//	{"fail": "text"}         an error of the model
//	{"wait": "file"}         make the file, then wait until the call is cancelled
//	{"stuck": "file"}        make the file, then ignore being cancelled
//
// Questions about whether there is more to do are answered with no, and use no line.
type scriptedModel struct{ path string }

func openScripted(path string) app.OpenModel {
	return func(ctx context.Context, _ *config.Config, _ *slog.Logger, loading func(float32)) (app.Model, error) {
		loading(0.5)
		if file := os.Getenv("MODEL_LOADS_UNTIL_CANCELLED"); file != "" {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return nil, err
			}
			<-ctx.Done()
		}
		return scriptedModel{path}, ctx.Err()
	}
}

type scriptedReply struct {
	Plan   [][2]string
	Args   json.RawMessage
	Answer string
	Until  string
	Fail   string
	Wait   string
	Stuck  string
}

func (scriptedModel) Close() error { return nil }

func (m scriptedModel) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	if text := nothingMore(o); text != "" {
		return response(text), nil
	}
	r, err := m.next()
	if err != nil {
		return nil, err
	}
	if file := r.Wait + r.Stuck; file != "" {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return nil, err
		}
		if r.Stuck != "" {
			select {}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if r.Fail != "" {
		return nil, errors.New(r.Fail)
	}
	text := r.text()
	if r.Until != "" {
		return r.repeat(ctx, o)
	}
	if o.StreamingFunc != nil {
		for word := range strings.SplitAfterSeq(text, " ") {
			if err := o.StreamingFunc(ctx, []byte(word)); err != nil {
				return nil, err
			}
		}
	}
	return response(text), nil
}

// repeat says the answer again and again, as fast as a model would, until a file exists or the call is cancelled.
func (r scriptedReply) repeat(ctx context.Context, o llms.CallOptions) (*llms.ContentResponse, error) {
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	var said strings.Builder
	for {
		if _, err := os.Stat(r.Until); err == nil {
			return response(said.String()), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-pace.C:
		}
		said.WriteString(r.Answer)
		if err := o.StreamingFunc(ctx, []byte(r.Answer)); err != nil {
			return nil, err
		}
	}
}

func response(text string) *llms.ContentResponse {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: text, StopReason: "stop",
		GenerationInfo: map[string]any{"PromptTokens": 20000, "PromptCachedTokens": 18000, "CompletionTokens": 20},
	}}}
}

// nothingMore answers the reflector, and the executor's question which tool to call next. It returns "" for other questions,
// which the schema of the reply tells apart.
func nothingMore(o llms.CallOptions) string {
	for _, v := range o.Metadata {
		raw, ok := v.(json.RawMessage)
		if !ok {
			continue
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(raw, &schema); err != nil {
			continue
		}
		if schema.Properties["decision"] != nil {
			return `{"decision":"done","missing":[],"reason":"the reason"}`
		}
		if len(schema.Properties) == 1 && schema.Properties["tool"] != nil {
			return `{"tool":"none"}`
		}
	}
	return ""
}

// next uses up a line.
func (m scriptedModel) next() (scriptedReply, error) {
	var r scriptedReply
	used := m.used()
	lines := strings.Split(strings.TrimSpace(readFile(m.path)), "\n")
	if used >= len(lines) {
		return r, fmt.Errorf("the script has no reply %d", used+1)
	}
	d := json.NewDecoder(strings.NewReader(lines[used]))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("script line %d: %w", used+1, err)
	}
	m.use(used + 1)
	return r, nil
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
	default:
		return r.Answer
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
