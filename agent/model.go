package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/templates"
)

// request is one question to the model.
type request struct {
	label       string // names the stored reply
	instruction string
	form        *form  // nil for free text
	stream      bool   // tell the text to the observer as it comes
	preface     string // told before the text of a stream
	varied      bool   // the last reply to this question was of no use, and a cold model would give it again
}

// variedTemperature is warm enough for another reply to the same question.
const variedTemperature = 0.8

// modelReply is a reply as it is stored, so that a resumed node makes the same decisions and no cost is forgotten.
type modelReply struct {
	Text  string `json:"text"`
	Cut   bool   `json:"cut,omitempty"` // it ended at the cap
	Usage Usage  `json:"usage"`

	Finish  string `json:"finish,omitempty"`
	QueueMS int64  `json:"queue_ms,omitempty"`
}

// CutError says that a reply ended at its cap and did so again with twice the cap. It is used for nothing.
type CutError struct {
	Node          string
	First, Second int // the caps, in tokens
	Partial       string
}

func (e *CutError) Error() string {
	return fmt.Sprintf("the reply of the %s was cut at %d tokens, and again at %d; raise max_tokens", e.Node, e.First, e.Second)
}

// ReplyError says that a reply could not be used, and neither could the one to the same question with the reason.
type ReplyError struct {
	Node string
	Err  error
}

func (e *ReplyError) Error() string {
	return fmt.Sprintf("the %s gave no usable reply in two tries: %v", e.Node, e.Err)
}

func (e *ReplyError) Unwrap() error { return e.Err }

// modelError marks an error of the model itself, as opposed to a reply that cannot be used.
type modelError struct{ err error }

func (e *modelError) Error() string { return e.err.Error() }
func (e *modelError) Unwrap() error { return e.err }

// ask puts a question and returns the reply's text. A reply that is cut is asked for once more with twice the cap.
func (w *work) ask(ctx context.Context, r request) (string, error) {
	limit := w.replyCap()
	reply, err := w.generate(ctx, r, limit)
	if err != nil {
		return "", err
	}
	if !reply.Cut {
		return reply.Text, nil
	}
	notice := templates.Render(templates.NoticeCut, templates.CutData{Limit: limit, Next: 2 * limit})
	r.instruction += "\n\n" + notice
	reply, err = w.generate(ctx, r, 2*limit)
	if err != nil {
		return "", err
	}
	if reply.Cut {
		return "", &CutError{Node: w.node, First: limit, Second: 2 * limit, Partial: reply.Text}
	}
	return reply.Text, nil
}

// askFor puts a question whose reply has a form. A reply that does not have it is asked for once more with the reason.
func askFor[T any](ctx context.Context, w *work, r request) (T, error) {
	var zero T
	var reason error
	question := r.instruction
	for range 2 {
		reply, err := w.ask(ctx, r)
		if err != nil {
			return zero, err
		}
		value, err := decode[T](r.form, reply)
		if err == nil {
			return value, nil
		}
		reason = err
		notice := templates.Render(templates.NoticeInvalid, templates.InvalidData{
			Reason: clip(oneLine(err.Error()), 400), Reply: clip(oneLine(strings.TrimSpace(reply)), 120),
		})
		r.instruction = question + "\n\n" + notice
	}
	return zero, &ReplyError{Node: w.node, Err: reason}
}

// generate makes one model call, or returns its stored reply when the node runs again.
func (w *work) generate(ctx context.Context, r request, limit int) (modelReply, error) {
	if err := w.fitContext(ctx, r.instruction, limit); err != nil {
		return modelReply{}, err
	}
	messages := w.trunk.messages(r.instruction)
	replayed := true
	reply, err := graph.Once(ctx, w.effect(r.label), func(ctx context.Context) (modelReply, error) {
		replayed = false
		return w.callModel(ctx, messages, r, limit)
	}, graph.Idempotent())
	if err != nil {
		return modelReply{}, err
	}
	if replayed && r.stream {
		w.startAnswer(ctx, r.preface)
		w.emit(ctx, AnswerDelta{Text: reply.Text})
	}
	if w.lifecycle != nil {
		w.trunk.fitting.Sent = len(w.trunk.entries)
	}
	w.usage = w.usage.Plus(reply.Usage)
	w.emit(ctx, ModelReplied{
		Node: w.node, Usage: reply.Usage, QueueMS: reply.QueueMS, Finish: reply.Finish, Messages: len(messages),
		Tools: len(w.offered.Names()), Replayed: replayed,
	})
	w.checkPromptSize(ctx, messages, reply.Usage)
	return reply, nil
}

// startAnswer tells that an answer comes.
func (w *work) startAnswer(ctx context.Context, preface string) {
	w.attempts++
	w.emit(ctx, AnswerStarted{Attempt: w.attempts})
	if preface != "" {
		w.emit(ctx, AnswerDelta{Text: preface})
	}
}

func (w *work) callModel(ctx context.Context, messages []llms.MessageContent, r request, limit int) (modelReply, error) {
	options := []llms.CallOption{llms.WithMaxTokens(limit)}
	if t := w.nodes[w.node].Temperature; r.varied {
		options = append(options, llms.WithTemperature(variedTemperature))
	} else if t != nil {
		options = append(options, llms.WithTemperature(*t))
	}
	if r.form != nil {
		options = append(options, engine.WithSchema(r.form.schema))
	}
	var stream *answerStream
	if r.stream {
		stream = &answerStream{tell: func(text string) { w.emit(ctx, AnswerDelta{Text: text}) }}
		options = append(options, llms.WithStreamingFunc(stream.write))
		w.startAnswer(ctx, r.preface)
	}
	response, err := w.model.GenerateContent(ctx, messages, options...)
	if err != nil {
		return modelReply{}, &modelError{fmt.Errorf("asking the model: %w", err)}
	}
	reply := modelReply{Usage: usageOf(response), QueueMS: engine.UsageOf(response).Queue.Milliseconds()}
	if len(response.Choices) > 0 && response.Choices[0] != nil {
		reply.Text = strings.ToValidUTF8(response.Choices[0].Content, "\uFFFD")
		reply.Finish = clip(response.Choices[0].StopReason, 40)
		reply.Cut = wasCut(reply.Finish)
	}
	if stream != nil {
		stream.end(reply.Text)
	}
	return reply, nil
}

// wasCut reports whether a stop reason means that the reply ended at the cap. Providers spell it in their own ways.
func wasCut(reason string) bool {
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "max_output_tokens", "model_length":
		return true
	}
	return false
}

// fitContext tightens the trunk when the model tells its context size, and notes what it left out.
func (w *work) fitContext(ctx context.Context, instruction string, limit int) error {
	counter, ok := w.model.(tokenCounter)
	if !ok {
		return nil
	}
	before := w.trunk.fitting
	fitted, err := w.trunk.fit(ctx, counter, instruction, limit)
	if err != nil {
		return err
	}
	w.trunk = fitted
	if after := fitted.fitting; after.Dropped != before.Dropped || len(after.Cuts) != len(before.Cuts) { // further cuts of a cut result are no news
		w.note(ctx, fmt.Sprintf("The context is full (%d tokens): %d results are shown in part and %d earlier entries are left out.",
			counter.ContextSize(), len(after.Cuts), after.Dropped))
	}
	if after := fitted.fitting; after.Turns != before.Turns || after.Unquoted != before.Unquoted {
		w.note(ctx, fmt.Sprintf("The context is full (%d tokens): %s.", counter.ContextSize(), after.leftOutOfConversation()))
	}
	return nil
}

// fewestTokensPerByte is far below what tokenizers make of text, so that a server that read less has not read all.
const fewestTokensPerByte = 1.0 / 8

// checkPromptSize notes when a model reports having read much less than it was sent. Some servers drop the beginning of a
// prompt that is too long for them and say nothing.
func (w *work) checkPromptSize(ctx context.Context, messages []llms.MessageContent, usage Usage) {
	bytes := textBytes(messages)
	if usage.PromptTokens <= 0 || float64(usage.PromptTokens) >= float64(bytes)*fewestTokensPerByte {
		return
	}
	w.note(ctx, fmt.Sprintf("The model read only %d tokens of a prompt of %d bytes: its server seems to cut prompts. "+
		"Raise its context size; the answer may miss things.", usage.PromptTokens, bytes))
}

// answerStream passes on the answer in whole characters.
type answerStream struct {
	tell    func(string)
	pending []byte
	told    bool
}

func (s *answerStream) write(_ context.Context, chunk []byte) error {
	s.pending = append(s.pending, chunk...)
	whole := len(s.pending) - unfinishedRune(s.pending)
	if whole > 0 {
		s.tell(strings.ToValidUTF8(string(s.pending[:whole]), "\uFFFD"))
		s.told = true
		s.pending = append([]byte(nil), s.pending[whole:]...)
	}
	return nil
}

// end tells what is left. A model that did not stream is told as a whole.
func (s *answerStream) end(text string) {
	switch {
	case len(s.pending) > 0:
		s.tell(strings.ToValidUTF8(string(s.pending), "\uFFFD"))
	case !s.told && text != "":
		s.tell(text)
	}
}

// unfinishedRune returns how many bytes at the end of b begin a character that is not complete yet.
func unfinishedRune(b []byte) int {
	for n := 1; n <= 3 && n <= len(b); n++ {
		c := b[len(b)-n]
		switch {
		case c < 0x80:
			return 0
		case c >= 0xC0:
			if size := runeSize(c); size > n {
				return n
			}
			return 0
		}
	}
	return 0
}

// runeSize is the length of a UTF-8 sequence by its first byte.
func runeSize(first byte) int {
	switch {
	case first >= 0xF0:
		return 4
	case first >= 0xE0:
		return 3
	default:
		return 2
	}
}

// usageOf reads what a model reports of a call.
func usageOf(response *llms.ContentResponse) Usage {
	if len(response.Choices) == 0 || response.Choices[0] == nil {
		return Usage{ModelCalls: 1}
	}
	u := engine.UsageOf(response)
	return Usage{
		ModelCalls: 1, PeakKVTokens: u.PromptTokens + u.CompletionTokens, PromptTokens: u.PromptTokens, CachedTokens: u.CachedTokens, RestoredTokens: u.RestoredTokens, EvaluatedTokens: u.EvaluatedTokens,
		CompletionTokens: u.CompletionTokens, ForcedTokens: u.ForcedTokens, DraftedTokens: u.DraftedTokens,
		AcceptedTokens: u.AcceptedTokens, PrefillMS: u.Prefill.Milliseconds(), DecodeMS: u.Decode.Milliseconds(),
		TTFTMS: u.TTFT.Milliseconds(),
	}
}
