//go:build cgo && !nollama

package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// tap notes the logits that every token is sampled from.
type tap struct {
	llamaModel
	rows [][]float32
}

func (t *tap) NewSampler(p llama.SamplerParams) (sampler, error) {
	s, err := t.llamaModel.NewSampler(p)
	return tapSampler{s, t}, err
}

type tapSampler struct {
	sampler
	tap *tap
}

func (s tapSampler) Sample(row int) (llama.Token, error) {
	s.tap.rows = append(s.tap.rows, s.tap.context.Logits(row, s.tap.Info().Vocab))
	return s.sampler.Sample(row)
}

// openKept starts an engine that keeps its KV state in a folder; an empty one: it does not. The model is known from the
// start, as it is for every process but the first.
func openKept(t testing.TB, dir string, adjust ...func(*Config)) (*Engine, *tap) {
	t.Helper()
	c := Config{
		ContextSize: 2048, Threads: 1, MaxTokens: 12,
		KVStorePath: dir, KVStoreMaxBytes: 1 << 30,
	}
	for _, f := range adjust {
		f(&c)
	}
	if c.ModelPath == "" {
		c.ModelPath = testmodel.Path(t, testmodel.Tiny)
	}
	c = c.withDefaults()
	stamps := stampFiles(append([]string{c.ModelPath}, adapterPaths(c.Adapters)...))
	if store, err := kvstore.Open(dir, 1<<30, c.Now); err == nil {
		for _, s := range stamps {
			if _, ok := store.KnownSum(s); !ok {
				_, err = store.Sum(t.Context(), s)
				require.NoError(t, err)
			}
		}
	}
	m, mem, free, err := openBackend(t.Context(), c)
	require.NoError(t, err)
	model := &tap{llamaModel: m.(llamaModel)}
	e, err := newEngine(c, model, mem, free, openShelf(c, stamps, computing(c, mem)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e, model
}

// realTrunk is a system text of about 270 tokens, and two worked turns.
func realTrunk() []llms.MessageContent {
	text := func(role llms.ChatMessageType, s string) llms.MessageContent { return llms.TextParts(role, s) }
	return []llms.MessageContent{
		text(llms.ChatMessageTypeSystem, "You answer shortly. "+strings.Repeat("The owl sat in the old oak and counted the stones of the miller's boy. ", 15)),
		text(llms.ChatMessageTypeHuman, "Who sat in the oak? Answer in one whole sentence, and say what the one in the oak did there."),
		text(llms.ChatMessageTypeAI, "The owl sat in the old oak, and it counted the stones of the boy of the miller who lived near."),
	}
}

func question(text string, before ...llms.MessageContent) []llms.MessageContent {
	return append(append(realTrunk(), before...), llms.TextParts(llms.ChatMessageTypeHuman, text))
}

// The logits of every token of a reply, and of the turn after it, are those of a process without a store.
func TestRealStoreChangesNothing(t *testing.T) {
	dir := t.TempDir()
	talk := func(e *Engine, q string) (text string, first, second Usage) {
		one := say(t, e, question(q))
		two := say(t, e, question(q, llms.TextParts(llms.ChatMessageTypeHuman, q), llms.TextParts(llms.ChatMessageTypeAI, one.Content)))
		return one.Content + "\n" + two.Content, usage(one), usage(two)
	}
	writer, filling := openKept(t, dir)
	text, u, _ := talk(writer, "Where?")
	require.Zero(t, u.RestoredTokens)
	require.NoError(t, writer.Close())

	for _, q := range []string{"Where?", "What was counted by it, and whose were those?"} {
		off, want := openKept(t, "")
		wantText, all, _ := talk(off, q)
		on, got := openKept(t, dir)
		gotText, u, _ := talk(on, q)
		require.Equal(t, wantText, gotText)
		require.Equal(t, want.rows, got.rows, "all logits")
		require.Equal(t, all.PromptTokens, u.RestoredTokens+u.EvaluatedTokens)
		require.Less(t, u.EvaluatedTokens*5, all.EvaluatedTokens, "a fraction is computed")
		require.NoError(t, on.Close())
		require.NoError(t, off.Close())
		if q == "Where?" {
			require.Equal(t, wantText, text)
			require.Equal(t, want.rows, filling.rows, "saving changes nothing")
		}
	}
}

// A store that lost some of its chunks, got damaged ones, or was filled by a process whose calls were cancelled.
func TestRealStoreAfterTrouble(t *testing.T) {
	dir := t.TempDir()
	off, want := openKept(t, "")
	wantText := say(t, off, question("Where?")).Content
	check := func(what string, restored bool) {
		on, got := openKept(t, dir)
		c := say(t, on, question("Where?"))
		require.Equal(t, wantText, c.Content, what)
		require.Equal(t, want.rows, got.rows, what)
		require.Equal(t, restored, usage(c).RestoredTokens > 0, what)
		require.NoError(t, on.Close())
	}
	cancelled, _ := openKept(t, dir)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := cancelled.GenerateContent(ctx, question("Why?"), WithProgress(func(int, int) { cancel() }))
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NotEmpty(t, say(t, cancelled, question("Why?")).Content)
	require.NoError(t, cancelled.Close())
	files := chunkFiles(t, dir)
	require.GreaterOrEqual(t, len(files), 2)

	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
	check("empty", false)
	check("filled", true)
	files = chunkFiles(t, dir)
	require.NoError(t, os.Remove(files[len(files)-1]))
	on, _ := openKept(t, dir)
	require.NotEmpty(t, say(t, on, question("Where?")).Content)
	require.NoError(t, on.Close())
	check("one was missing", true)
	for i, f := range chunkFiles(t, dir) {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		b[len(b)/3*(i%3)+60] ^= 4
		require.NoError(t, os.WriteFile(f, b, 0o600))
	}
	check("flipped bits", false)
	check("repaired", true)
	small := func(c *Config) { c.KVStoreMaxBytes = 40 << 20 }
	evicting, _ := openKept(t, dir, small)
	for i := range 3 {
		require.NotEmpty(t, say(t, evicting, user(fmt.Sprint(i)+strings.Repeat(" the owl counted", 150)), llms.WithMaxTokens(1)).Content)
	}
	require.NoError(t, evicting.Close())
	n, err := evicting.sched.shelf.store.Bytes()
	require.NoError(t, err)
	require.LessOrEqual(t, n, int64(40<<20))
	on, got := openKept(t, dir)
	require.Equal(t, wantText, say(t, on, question("Where?")).Content)
	require.Equal(t, want.rows, got.rows)
}

// What was computed with another kind of cache, size of context or batch is not taken.
func TestRealStoreKnowsHowItWasComputed(t *testing.T) {
	dir := t.TempDir()
	e, _ := openKept(t, dir)
	say(t, e, question("Where?"))
	require.NoError(t, e.Close())
	for what, adjust := range map[string]func(*Config){
		"cache": func(c *Config) { c.KVCacheType = "q8_0" }, "attention": func(c *Config) { c.FlashAttention = "off" },
		"context": func(c *Config) { c.ContextSize = 1024 }, "batch": func(c *Config) { c.BatchSize = 128 },
	} {
		e, _ := openKept(t, dir, adjust)
		first := say(t, e, question("Where?"))
		require.Zero(t, usage(first).RestoredTokens, what)
		require.NoError(t, e.Close())
		e, _ = openKept(t, dir, adjust)
		second := say(t, e, question("Where?"))
		require.Positive(t, usage(second).RestoredTokens, what)
		require.Equal(t, first.Content, second.Content, what)
		require.NoError(t, e.Close())
	}
}

// More threads share the rows of a batch among them and change no bit of what is kept.
func TestRealThreadsDoNotMatterForPrompts(t *testing.T) {
	var rows [2][]float32
	for i := range rows {
		e, got := openKept(t, "", func(c *Config) { c.Threads = i + 1 })
		say(t, e, question("Where?"), llms.WithMaxTokens(1))
		rows[i] = got.rows[0]
		require.NoError(t, e.Close())
	}
	require.Equal(t, rows[0], rows[1])
}

// realReply is what another process tells of its call.
type realReply struct {
	Text  string
	Usage Usage
}

// The test binary runs itself as another process with an engine.
const (
	envRole  = "ENGINE_TEST_ROLE"
	envStore = "ENGINE_TEST_STORE"
	envModel = "ENGINE_TEST_MODEL"
)

func runRole() bool {
	rounds := map[string]int{"once": 1, "for ever": 1 << 30}[os.Getenv(envRole)]
	if rounds == 0 {
		return false
	}
	e, err := Open(context.Background(), Config{
		ModelPath: os.Getenv(envModel), ContextSize: 2048, Threads: 1, MaxTokens: 12, KVStorePath: os.Getenv(envStore), KVStoreMaxBytes: 1 << 30,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := range rounds {
		q := "Where?"
		if i > 0 {
			q = fmt.Sprintf("%d %s", i, strings.Repeat("Where did it sit? ", 40))
		}
		resp, err := e.GenerateContent(context.Background(), question(q))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := json.NewEncoder(os.Stdout).Encode(realReply{resp.Choices[0].Content, UsageOf(resp)}); err != nil {
			os.Exit(1)
		}
	}
	if err := e.Close(); err != nil {
		os.Exit(1)
	}
	return true
}

func child(t *testing.T, role, dir string) (*exec.Cmd, *json.Decoder) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), envRole+"="+role, envStore+"="+dir, envModel+"="+testmodel.Path(t, testmodel.Tiny))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, json.NewDecoder(bufio.NewReader(out))
}

func TestRealStoreOfTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	off, _ := openKept(t, "")
	want := say(t, off, question("Where?"))
	one, oneOut := child(t, "once", dir)
	two, twoOut := child(t, "once", dir)
	for _, out := range []*json.Decoder{oneOut, twoOut} {
		var got realReply
		require.NoError(t, out.Decode(&got))
		require.Equal(t, want.Content, got.Text)
	}
	require.NoError(t, one.Wait())
	require.NoError(t, two.Wait())

	// Killed while it calls and saves, after its first reply.
	killed, out := child(t, "for ever", dir)
	var got realReply
	for range 3 {
		require.NoError(t, out.Decode(&got))
	}
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())

	last, out := child(t, "once", dir)
	require.NoError(t, out.Decode(&got))
	require.NoError(t, last.Wait())
	require.Equal(t, want.Content, got.Text)
	require.Positive(t, got.Usage.RestoredTokens)
	require.Less(t, got.Usage.EvaluatedTokens*5, got.Usage.PromptTokens)
}
