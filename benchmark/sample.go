package benchmark

import (
	"fmt"
	"slices"
	"strings"
)

// ErrorClass says why there is nothing to judge. It is about the program as a process, not about what the agent answered.
type ErrorClass string

// Classes of errors.
const (
	Crash     ErrorClass = "crash"      // the program was ended by a signal, or by itself with an error that is no failed task
	Timeout   ErrorClass = "timeout"    // it was killed when its time was over
	NoResult  ErrorClass = "no_result"  // it ended as if all were well, but printed no report
	ModelLoad ErrorClass = "model_load" // it could not load the model
)

// Sample is one case done once in one round, with stores of its own.
type Sample struct {
	Suite      string `json:"suite"`
	Case       string `json:"case_id"`
	Category   string `json:"category"`
	Round      string `json:"round"`
	Repetition int    `json:"repetition"` // from 0
	Seed       int    `json:"seed"`       // of the model's sampling

	Status     string     `json:"status"` // of the last turn
	Answer     string     `json:"answer"`
	Faults     []string   `json:"faults"`
	Right      int        `json:"right"`       // answers without a fault
	Judged     int        `json:"judged"`      // answers that could be judged: one, or one for each question
	ErrorClass ErrorClass `json:"error_class"` // of the first turn that had no result; empty: none
	Error      string     `json:"error"`       // what happened, with the end of stderr

	Cost
	DatabaseBytes int64  `json:"database_bytes"`          // databases on disk at the end; after several questions, those of the last
	StoredBytes   int64  `json:"stored_bytes"`            // these, and stored contents of results
	PeakKVTokens  int    `json:"peak_kv_tokens"`          // 0: not known
	PeakKVSource  string `json:"peak_kv_source"`          // kv_metrics.csv or usage.peak_kv_tokens
	PeakKVError   string `json:"peak_kv_error,omitempty"` // why kv_metrics.csv could not be used although it is there
	Turns         []Turn `json:"turns"`
}

// Cost is what turns of the program took, as it reports it. Peaks are over the turns, the time to the first token is that of the
// last turn, the rest is added up.
type Cost struct {
	InputTokens      int   `json:"input_tokens"`     // sent to the model, cached ones included
	CachedTokens     int   `json:"cached_tokens"`    // of these, taken from a cache
	EvaluatedTokens  int   `json:"evaluated_tokens"` // of these, computed
	CompletionTokens int   `json:"completion_tokens"`
	ForcedTokens     int   `json:"forced_tokens"`           // of the completion, dictated by a schema
	DraftedTokens    int   `json:"drafted_tokens"`          // proposed ahead of the model
	AcceptedTokens   int   `json:"accepted_tokens"`         // of these, accepted by the model
	PeakPromptTokens int   `json:"reported_peak_kv_tokens"` // of one model call, with its reply; 0: not reported
	CheckpointBytes  int64 `json:"checkpoint_bytes"`
	PeakRSSBytes     int64 `json:"peak_rss_bytes"` // by the system's account
	ModelCalls       int   `json:"model_calls"`
	ToolCalls        int   `json:"tool_calls"`
	DurationMS       int64 `json:"duration_ms"` // without loading the model
	TTFTMS           int64 `json:"ttft_ms"`     // from the first model call of a turn to its first token
	PrefillMS        int64 `json:"prefill_ms"`  // reading prompts
	DecodeMS         int64 `json:"decode_ms"`   // writing replies
	ModelLoadMS      int64 `json:"model_load_ms"`
	WallMS           int64 `json:"wall_ms"` // of the process
}

// Turn is one process of a sample.
type Turn struct {
	Number     int        `json:"turn"`               // from 1; questions after the turns all have the same number
	Question   string     `json:"question,omitempty"` // its ID
	Status     string     `json:"status"`
	Answer     string     `json:"answer"`
	Failure    string     `json:"failure,omitempty"` // the program's own reason for a failed task
	Tools      []string   `json:"tools"`
	Faults     []string   `json:"faults,omitempty"` // nil for turns that are not judged
	ErrorClass ErrorClass `json:"error_class,omitempty"`
	Error      string     `json:"error,omitempty"`
	Cost

	conversation string
	results      []string
	stderr       string // the end of it
}

func (c *Cost) add(o Cost) {
	c.InputTokens += o.InputTokens
	c.CachedTokens += o.CachedTokens
	c.EvaluatedTokens += o.EvaluatedTokens
	c.CompletionTokens += o.CompletionTokens
	c.ForcedTokens += o.ForcedTokens
	c.DraftedTokens += o.DraftedTokens
	c.AcceptedTokens += o.AcceptedTokens
	c.PeakPromptTokens = max(c.PeakPromptTokens, o.PeakPromptTokens)
	c.CheckpointBytes += o.CheckpointBytes
	c.PeakRSSBytes = max(c.PeakRSSBytes, o.PeakRSSBytes)
	c.ModelCalls += o.ModelCalls
	c.ToolCalls += o.ToolCalls
	c.DurationMS += o.DurationMS
	c.TTFTMS = o.TTFTMS
	c.PrefillMS += o.PrefillMS
	c.DecodeMS += o.DecodeMS
	c.ModelLoadMS += o.ModelLoadMS
	c.WallMS += o.WallMS
}

// AllRight reports whether every answer that the sample should give is there and right.
func (s *Sample) AllRight() bool { return s.ErrorClass == "" && s.Judged > 0 && s.Right == s.Judged }

// Line tells in one line how the sample went.
func (s *Sample) Line() string {
	how := fmt.Sprintf("%d of %d right", s.Right, s.Judged)
	if s.ErrorClass != "" {
		how += ", " + string(s.ErrorClass)
	}
	line := fmt.Sprintf("%s %s #%d: %s; %d turns, %d model calls, %d tool calls, %d input tokens, %d evaluated, peak KV %d, %d KiB in databases, %.1f s",
		s.Case, s.Round, s.Repetition, how, len(s.Turns), s.ModelCalls, s.ToolCalls, s.InputTokens, s.EvaluatedTokens, s.PeakKVTokens,
		s.DatabaseBytes/1024, float64(s.DurationMS)/1000)
	if len(s.Faults) > 0 {
		line += fmt.Sprintf("; %s; answer %.300q", strings.Join(s.Faults, "; "), s.Answer)
	}
	if s.Error != "" {
		line += "; " + s.Error
	}
	return line
}

// add takes a turn into the sample.
func (s *Sample) add(t Turn) {
	s.Turns = append(s.Turns, t)
	s.Cost.add(t.Cost)
	s.Status, s.Answer = t.Status, t.Answer
	if s.ErrorClass == "" && t.ErrorClass != "" {
		s.ErrorClass, s.Error = t.ErrorClass, t.Error
	}
}

// judge judges the last turn, which follows the turns before it. The digests are those of the workspace before and after all turns.
func (s *Sample) judge(c Case, before []Turn, fixturesBefore, fixturesAfter string) {
	last := &s.Turns[len(s.Turns)-1]
	o := Outcome{Status: last.Status, Answer: last.Answer, FixturesBefore: fixturesBefore, FixturesAfter: fixturesAfter}
	for _, t := range append(slices.Clone(before), *last) {
		o.Tools = append(o.Tools, t.Tools...)
		o.ToolResults = append(o.ToolResults, t.results...)
		o.TurnCalls = append(o.TurnCalls, len(t.Tools))
	}
	last.Faults = Judge(c, o)
	s.Judged++
	if len(last.Faults) == 0 {
		s.Right++
	}
	for _, fault := range last.Faults {
		if last.Question != "" {
			fault = last.Question + ": " + fault
		}
		s.Faults = append(s.Faults, fault)
	}
}

// newTurn reads how a process went.
func newTurn(number int, e execution) Turn {
	t := Turn{Number: number, Tools: []string{}, Cost: Cost{WallMS: e.wall.Milliseconds(), PeakRSSBytes: e.peakRSS}, stderr: e.stderr}
	fail := func(class ErrorClass, why string) Turn {
		t.ErrorClass, t.Error = class, why
		if e.stderr != "" {
			t.Error += stderrIntro + e.stderr
		}
		return t
	}
	switch {
	case e.timedOut:
		return fail(Timeout, "killed after "+e.wall.Round(1e8).String())
	case e.exitCode == exitModel:
		return fail(ModelLoad, "the program could not load the model")
	case e.exitCode != 0 && e.exitCode != exitFailed:
		return fail(Crash, "the program ended with "+e.state)
	case e.overflow:
		return fail(NoResult, "stdout is longer than any report")
	}
	r, err := parseReport(e.stdout)
	if err != nil {
		return fail(NoResult, err.Error())
	}
	t.Status, t.Answer, t.Tools, t.conversation = r.Status, r.Answer, r.tools(), r.ConversationID
	if r.Error != nil {
		t.Failure = r.Error.Kind + ": " + r.Error.Message
	}
	for _, c := range r.Calls {
		t.results = append(t.results, plainText(c.Result))
	}
	u := r.Usage
	t.InputTokens, t.CachedTokens, t.EvaluatedTokens = u.PromptTokens, u.CachedTokens, u.EvaluatedTokens
	t.CompletionTokens, t.ForcedTokens, t.DraftedTokens, t.AcceptedTokens = u.CompletionTokens, u.ForcedTokens, u.DraftedTokens, u.AcceptedTokens
	t.PeakPromptTokens, t.CheckpointBytes = u.PeakPromptTokens, r.CheckpointBytes
	t.ModelCalls, t.ToolCalls = u.ModelCalls, len(r.Calls)
	t.DurationMS, t.TTFTMS, t.PrefillMS, t.DecodeMS, t.ModelLoadMS = r.DurationMS, u.TTFTMS, u.PrefillMS, u.DecodeMS, u.ModelLoadMS
	return t
}

// stderrIntro stands between what happened and the end of stderr, which may have many lines.
const stderrIntro = "; stderr ends with:\n"

// Exit codes of the program that mean more than an error.
const (
	exitModel  = 4 // the model cannot be loaded
	exitFailed = 5 // the task failed; its report tells why and is judged like any other
)
