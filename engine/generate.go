package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/tmc/langchaingo/llms"
)

var _ llms.Model = (*Engine)(nil)

// repeatLastN is the number of sampled tokens that the repeat penalty looks back on, as in llama.cpp.
const repeatLastN = 64

// GenerateContent answers a conversation. Options that are not given come from the Config; MaxTokens is cut to what the
// context leaves.
//
// With tools, ToolChoice is "none", "auto" (the default), "required" or an llms.ToolChoice that names one. The native
// format is the model's own, through its chat template; the structured one lists the tools in the system text and
// constrains a JSON object. Calls that were cut off by the token limit are left out, and StopReason is then "length".
//
// StreamingFunc gets the content as it comes, whole characters; StreamingReasoningFunc gets reasoning and content apart.
// An error that one of them returns ends the call and is returned.
//
// StopReason is "stop", "length" or "tool_calls". Errors: *ContextError, *SchemaError, ErrClosed, ctx's error.
func (e *Engine) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.calls.Done()
	if e.cfg.RequestTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, e.cfg.RequestTimeout,
			fmt.Errorf("engine: the call took longer than request_timeout (%s): %w", e.cfg.RequestTimeout, context.DeadlineExceeded))
		defer cancel()
	}
	queued := e.cfg.Now()
	opts := e.callOptions(options)
	c, err := e.prepare(messages, opts)
	if err != nil {
		return nil, err
	}
	c.queued = queued
	return e.generate(ctx, c)
}

// Call answers a single prompt.
//
// Deprecated: part of llms.Model; use GenerateContent.
func (e *Engine) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, e, prompt, options...)
}

// CountTokens is the number of prompt tokens that a call with these messages and options has, template included.
func (e *Engine) CountTokens(_ context.Context, messages []llms.MessageContent, options ...llms.CallOption) (int, error) {
	if err := e.enter(); err != nil {
		return 0, err
	}
	defer e.calls.Done()
	req, _, err := e.chatRequest(messages, e.callOptions(options))
	if err != nil {
		return 0, err
	}
	_, tokens, err := e.render(req)
	return len(tokens), err
}

func (e *Engine) callOptions(options []llms.CallOption) llms.CallOptions {
	o := llms.CallOptions{
		MaxTokens: e.cfg.MaxTokens, Temperature: e.cfg.Temperature, StopWords: e.cfg.Stop, TopK: e.cfg.TopK, TopP: e.cfg.TopP,
		Seed: e.cfg.Seed, RepetitionPenalty: e.cfg.RepeatPenalty,
	}
	for _, opt := range options {
		opt(&o)
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = e.cfg.MaxTokens
	}
	return o
}

// call is a prepared generation.
type call struct {
	opts   llms.CallOptions
	prompt llama.ChatPrompt
	tokens []llama.Token
	cuts   []int // of the tokens
	worth  int   // chunks worth keeping
	tools  toolMode
	parse  bool // the reply has a format that must be read: native tool calls or reasoning
	req    llama.SamplerParams
	json   bool          // the reply is one JSON value
	forced *gbnf.Grammar // by which parts of the reply are put in without sampling; nil: none are
	queued time.Time
}

// prepare renders the prompt and chooses the constraint of the reply.
func (e *Engine) prepare(messages []llms.MessageContent, opts llms.CallOptions) (*call, error) {
	req, mode, err := e.chatRequest(messages, opts)
	if err != nil {
		return nil, err
	}
	if req.Schema != nil {
		if _, err := e.grammar.get(e.model, string(req.Schema)); err != nil {
			return nil, err // before the template, whose error would not name the schema
		}
	}
	c := &call{opts: opts, tools: mode}
	if c.prompt, c.tokens, err = e.render(req); err != nil {
		return nil, err
	}
	if len(c.tokens) == 0 {
		return nil, errors.New("engine: the prompt is empty: the chat template renders nothing for these messages")
	}
	size := e.ContextSize()
	if len(c.tokens)+1 > size {
		return nil, &ContextError{PromptTokens: len(c.tokens), ContextSize: size}
	}
	c.cuts = cuts(c.tokens, e.model.IsControl, e.model.IsEOG)
	c.worth = worthKeeping(c.tokens, c.cuts, e.model.IsEOG)
	if !cuttable(e.model.Info().Memory) {
		c.cuts = boundaries(c.tokens, c.cuts[:c.worth], e.model.IsControl)
		c.worth = len(c.cuts)
	}
	c.opts.MaxTokens = min(c.opts.MaxTokens, size-len(c.tokens))
	c.opts.StopWords = append(append([]string(nil), opts.StopWords...), c.prompt.Stops...)
	c.req = llama.SamplerParams{
		Seed: seed(opts.Seed), Temperature: float32(opts.Temperature), TopK: opts.TopK, TopP: float32(opts.TopP),
		MinP: float32(e.cfg.MinP), RepeatPenalty: float32(opts.RepetitionPenalty), RepeatLastN: repeatLastN,
	}
	return c, e.constrain(c, req)
}

// randomSeed makes llama.cpp draw a seed.
const randomSeed = 0xFFFFFFFF

func seed(n int) uint32 {
	if n < 0 {
		return randomSeed
	}
	return uint32(n % randomSeed)
}

// constrain sets the grammar. The repeat penalty is off under one: it would push the model off the names, quotes and
// digits that a valid reply has to repeat.
func (e *Engine) constrain(c *call, req llama.ChatRequest) error {
	native := c.tools == toolsNative
	thinks := c.prompt.Thinking
	c.parse = native || thinks
	schema := string(req.Schema)
	switch {
	case native || schema != "" && thinks && req.Thinking:
		// llama.cpp's common knows where reasoning ends and the constrained part begins.
		c.req.Grammar, c.req.Lazy = c.prompt.Grammar, c.prompt.Lazy
		c.req.Triggers, c.req.Preserved = string(c.prompt.Triggers), string(c.prompt.Preserved)
		c.req.GenerationPrompt = c.prompt.GenerationPrompt
		c.req.GrammarKind = llama.GrammarOutputFormat
		if native {
			c.req.GrammarKind = llama.GrammarToolCalls
			c.req.Grammar = requireCall(c.req.Grammar)
			if c.req.Grammar == "" && req.ToolChoice == "required" {
				return errors.New("engine: the chat template gives no grammar for a required tool call; use tool_format = structured")
			}
		}
	case schema != "":
		g, err := e.grammar.get(e.model, schema)
		if err != nil {
			return err
		}
		c.req.Grammar, c.req.GrammarKind = g.text, llama.GrammarUser
		c.json, c.parse = true, false
		if !e.cfg.SampleLiterals {
			c.forced = g.parsed
		}
	}
	if c.req.Grammar != "" {
		c.req.RepeatPenalty = 1
	}
	return nil
}

// chatRequest builds what the template gets.
func (e *Engine) chatRequest(messages []llms.MessageContent, opts llms.CallOptions) (llama.ChatRequest, toolMode, error) {
	msgs, err := chatMessages(messages)
	if err != nil {
		return llama.ChatRequest{}, toolsNone, err
	}
	y, m, d := e.cfg.Now().Date()
	req := llama.ChatRequest{
		Messages: msgs, Thinking: e.cfg.Thinking,
		// The day, not the second: templates that print it must not change the prompt with each call.
		Now: time.Date(y, m, d, 12, 0, 0, 0, time.Local).Unix(),
	}
	switch s := opts.Metadata[metaSchema].(type) {
	case nil:
		if opts.JSONMode || opts.ResponseMIMEType == "application/json" {
			req.Schema = json.RawMessage(`{"type":"object"}`)
		}
	case json.RawMessage:
		req.Schema = s
	case []byte:
		req.Schema = s
	case string:
		req.Schema = json.RawMessage(s)
	default:
		return req, toolsNone, fmt.Errorf("engine: a schema of type %T; use WithSchema", s)
	}
	if req.Schema != nil && !json.Valid(req.Schema) {
		return req, toolsNone, &SchemaError{Schema: shorten(string(req.Schema), 120), Err: errors.New("not JSON")}
	}
	mode, err := e.addTools(&req, opts)
	return req, mode, err
}

// generate runs a prepared call and reads its events.
func (e *Engine) generate(ctx context.Context, c *call) (*llms.ContentResponse, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &request{
		ctx: ctx, prompt: c.tokens, cuts: c.cuts, worth: c.worth, maxTokens: c.opts.MaxTokens, sampling: c.req, queued: c.queued,
		text: textTracker{stops: c.opts.StopWords}, grammar: c.forced,
		events: make(chan event, 2*(c.opts.MaxTokens+4)),
	}
	if c.json {
		r.text.json = &jsonEnd{}
	}
	if e.cfg.Draft {
		r.drafts = &drafts{rate: firstRate}
	}
	if err := e.sched.submit(r); err != nil {
		return nil, cause(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { e.sched.cancel(r) })
	defer stop()

	progress, _ := c.opts.Metadata[metaProgress].(func(done, total int))
	out := replyReader{engine: e, call: c, ctx: ctx}
	var refused error // by the caller's streaming function; the request may be at its end before it hears of that
	for ev := range r.events {
		switch {
		case ev.end:
			if refused != nil {
				return nil, refused
			}
			if ev.err != nil {
				return nil, cause(ctx, ev.err)
			}
			if out.cut {
				return nil, context.Cause(ctx)
			}
			return out.response(ev.finish, *ev.usage)
		case ev.done > 0:
			if progress != nil {
				progress(ev.done, len(c.tokens))
			}
		default:
			if refused == nil {
				if refused = out.push(ev.delta); refused != nil {
					cancel(refused)
				}
			}
		}
	}
	panic("engine: a request without an end")
}

// cause prefers the reason of a cancellation to the bare context error.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return c
	}
	return err
}

// replyReader collects a reply and streams it.
type replyReader struct {
	engine *Engine
	call   *call
	ctx    context.Context
	text   strings.Builder
	sent   llama.ChatReply // what was streamed, when the reply is parsed
	cut    bool            // the rest was not streamed, because the call was cancelled
}

func (r *replyReader) push(delta string) error {
	if r.ctx.Err() != nil {
		r.cut = true
		return nil //nolint:nilerr // the end is on its way, with the reason
	}
	r.text.WriteString(delta)
	if r.call.opts.StreamingFunc == nil && r.call.opts.StreamingReasoningFunc == nil || r.call.tools == toolsStructured {
		return nil
	}
	if !r.call.parse {
		return r.stream("", delta)
	}
	reply, err := r.engine.model.ParseReply(r.call.prompt, r.text.String(), true, r.call.tools == toolsNative)
	if err != nil {
		return nil //nolint:nilerr // not readable yet
	}
	return r.streamReply(reply)
}

// streamReply streams what a longer reply has more than the one before.
func (r *replyReader) streamReply(reply llama.ChatReply) error {
	thought, ok1 := strings.CutPrefix(reply.Reasoning, r.sent.Reasoning)
	content, ok2 := strings.CutPrefix(reply.Content, r.sent.Content)
	if !ok1 || !ok2 || thought == "" && content == "" {
		return nil
	}
	r.sent = reply
	return r.stream(thought, content)
}

func (r *replyReader) stream(thought, content string) error {
	if fn := r.call.opts.StreamingReasoningFunc; fn != nil {
		if err := fn(r.ctx, []byte(thought), []byte(content)); err != nil {
			return err
		}
	}
	if fn := r.call.opts.StreamingFunc; fn != nil && content != "" {
		return fn(r.ctx, []byte(content))
	}
	return nil
}

// response builds the result of a finished call.
func (r *replyReader) response(finish string, u Usage) (*llms.ContentResponse, error) {
	choice := &llms.ContentChoice{Content: r.text.String(), StopReason: finish, GenerationInfo: u.info()}
	switch {
	case r.call.tools == toolsStructured:
		readStructured(choice)
		if choice.Content != "" {
			if err := r.stream("", choice.Content); err != nil {
				return nil, err
			}
		}
	case r.call.parse:
		reply, err := r.engine.model.ParseReply(r.call.prompt, r.text.String(), finish == finishLength, r.call.tools == toolsNative)
		if err != nil {
			// A reply that breaks its own format is still the model's text.
			r.engine.cfg.Logger.Warn("a reply is not in the format of its chat template", "error", err)
			reply = llama.ChatReply{Content: choice.Content, Reasoning: r.sent.Reasoning}
		}
		if err := r.streamReply(reply); err != nil {
			return nil, err
		}
		choice.Content, choice.ReasoningContent = reply.Content, reply.Reasoning
		for i, t := range reply.ToolCalls {
			if t.Arguments == "" && finish == finishLength {
				continue // cut off before its arguments
			}
			addCall(choice, t.ID, t.Name, t.Arguments, i)
		}
	}
	if len(choice.ToolCalls) > 0 {
		choice.FuncCall = choice.ToolCalls[0].FunctionCall
		if finish == finishStop {
			choice.StopReason = "tool_calls"
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}
