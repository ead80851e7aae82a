package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

// withStore makes a rig keep its KV state in a folder, and tell notices to a log.
func withStore(dir string, log *logged) func(*rig, *Config) {
	return func(_ *rig, c *Config) {
		c.BatchSize, c.KVStorePath, c.KVStoreMaxBytes = 512, dir, 1<<20
		if log != nil {
			c.Notices = log.logger()
		}
	}
}

// system is a conversation with a system text and a question.
func system(text, question string) []llms.MessageContent {
	return append([]llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, text)}, user(question)...)
}

// tell sends a conversation and checks the reply.
func (r *rig) tell(t require.TestingT, messages []llms.MessageContent) Usage {
	resp, err := r.GenerateContent(context.Background(), messages)
	require.NoError(t, err)
	chat, err := chatMessages(messages)
	require.NoError(t, err)
	p, err := chatML(llama.ChatRequest{Messages: chat})
	require.NoError(t, err)
	require.Equal(t, hashReply(p), resp.Choices[0].Content)
	u := UsageOf(resp)
	require.Equal(t, u.PromptTokens, u.CachedTokens+u.EvaluatedTokens)
	require.LessOrEqual(t, u.RestoredTokens, u.CachedTokens)
	return u
}

// damage changes a bit of every chunk in a folder.
func damage(t *testing.T, dir string) {
	t.Helper()
	for _, f := range chunkFiles(t, dir) {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		b[len(b)/2] ^= 1
		require.NoError(t, os.WriteFile(f, b, 0o600))
	}
}

// chunkFiles are the chunks in a folder.
func chunkFiles(t require.TestingT, dir string) []string {
	out, err := filepath.Glob(filepath.Join(dir, "*.kv"))
	require.NoError(t, err)
	return out
}

var trunk = strings.Repeat("You are helpful. ", 40) // 680 tokens of the fake

func TestAnotherProcessRestores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newRig(t, 4096, withStore(dir, nil))
	u := first.tell(t, system(trunk, "one"))
	require.Zero(t, u.RestoredTokens)
	require.NoError(t, first.Close())
	require.Len(t, chunkFiles(t, dir), 3, "256, 512 and the end of the system text")
	require.Equal(t, 3, first.mem.saved)

	second := newRig(t, 4096, withStore(dir, nil))
	u = second.tell(t, system(trunk, "two"))
	end := len("<|im_start|>system\n") + len(trunk) - len("<|im_start|>") + 1
	require.Equal(t, end, u.RestoredTokens)
	require.Equal(t, end, u.CachedTokens)
	require.Less(t, u.EvaluatedTokens*10, u.PromptTokens)
	require.Equal(t, end, second.mem.restored)
	u = second.tell(t, system(trunk, "three"))
	require.Zero(t, u.RestoredTokens, "it is in memory")
	require.NoError(t, second.Close())
	require.Zero(t, second.mem.saved, "nothing is written twice")
	require.Len(t, chunkFiles(t, dir), 3)
}

// A conversation goes on in another process: all but the last message and the reply to it is there.
func TestAnotherProcessContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	talk := system(trunk, "one")
	first := newRig(t, 4096, withStore(dir, nil))
	for i := range 4 {
		u := first.tell(t, talk)
		require.Zero(t, u.RestoredTokens, i)
		talk = append(talk, llms.TextParts(llms.ChatMessageTypeAI, strings.Repeat("r", 50)), llms.TextParts(llms.ChatMessageTypeHuman, strings.Repeat("q", 60)))
	}
	require.NoError(t, first.Close())
	second := newRig(t, 4096, withStore(dir, nil))
	u := second.tell(t, talk)
	require.Less(t, u.EvaluatedTokens, 250, "two turns")
	require.Greater(t, u.RestoredTokens, u.PromptTokens*3/4)
}

// What is in memory ends inside a chunk that is on disk.
func TestMemoryIsCutBackForTheStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newRig(t, 4096, withStore(dir, nil))
	first.tell(t, system(trunk, "one"))
	require.NoError(t, first.Close())
	second := newRig(t, 4096, withStore(dir, nil))
	second.tell(t, system(trunk[:300], "short")) // the chunk of 256 is restored, and 50 tokens after it are computed
	u := second.tell(t, system(trunk, "two"))
	require.Greater(t, u.RestoredTokens, 400)
	require.Less(t, u.EvaluatedTokens, 60)
	// A few tokens more are not worth it.
	long := system(trunk+strings.Repeat("z", 300), "x")
	second.tell(t, long)
	u = second.tell(t, long)
	require.Equal(t, 1, u.EvaluatedTokens)
	require.Zero(t, u.RestoredTokens)
}

func TestStoreBesideOtherCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 3 {
		r := newRig(t, 8192, withStore(dir, nil))
		var g errgroup.Group
		for i := range 9 {
			g.Go(func() error {
				text := strings.Repeat(fmt.Sprint(i%3), 600)
				got, u, err := r.ask(t.Context(), text+fmt.Sprint(round, i))
				if err == nil && got != want(text+fmt.Sprint(round, i)) {
					err = fmt.Errorf("call %d got %q", i, got)
				}
				if err == nil && round > 0 && u.CachedTokens < 512 {
					err = fmt.Errorf("call %d of round %d computed %d tokens", i, round, u.EvaluatedTokens)
				}
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.NoError(t, r.Close())
	}
}

// A process that is killed in a reply has kept the prompt.
func TestChunksAreSavedDuringTheReply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, 8192, func(r *rig, c *Config) {
		withStore(dir, nil)(r, c)
		r.model.reply = func(string) string { return strings.Repeat("r", 3000) }
	})
	found := -1 // tokens of the reply before the first chunk was there
	tokens := 0
	r.mem.before = func(_ llama.Token, n int) { // on the owner goroutine
		if n > 1 || found >= 0 {
			return
		}
		tokens++
		runtime.Gosched()
		for end := time.Now().Add(soon); r.sched.offered == nil && r.mem.saved > 0 && time.Now().Before(end); runtime.Gosched() {
			if len(chunkFiles(t, dir)) > 0 {
				found = tokens
				return
			}
		}
	}
	resp, err := r.GenerateContent(t.Context(), system(trunk, "one"), llms.WithMaxTokens(3000))
	require.NoError(t, err)
	require.Len(t, resp.Choices[0].Content, 3000)
	require.Positive(t, found)
}

func TestStoreOfAnotherModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newRig(t, 4096, withStore(dir, nil))
	first.tell(t, system(trunk, "one"))
	require.NoError(t, first.Close())
	other := newRig(t, 4096, func(r *rig, c *Config) {
		withStore(dir, nil)(r, c)
		r.kept = openShelf(c.withDefaults(), knownFile(t, dir), []string{"another way"})
	})
	require.Zero(t, other.tell(t, system(trunk, "two")).RestoredTokens)
}

func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	t.Run("no folder", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		var log logged
		r := newRig(t, 4096, withStore(filepath.Join(name, "kv"), &log))
		r.tell(t, system(trunk, "one"))
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "kv_store_path")
	})
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		var log logged
		dir := t.TempDir()
		r := newRig(t, 4096, withStore(dir, &log))
		require.NoError(t, os.RemoveAll(dir))
		r.tell(t, system(trunk, "one"))
		r.tell(t, system(trunk+trunk, "two"))
		require.NoError(t, r.Close())
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "kv_store_max_bytes")
	})
	t.Run("too small", func(t *testing.T) {
		t.Parallel()
		var log logged
		dir := t.TempDir()
		r := newRig(t, 4096, func(r *rig, c *Config) { withStore(dir, &log)(r, c); c.KVStoreMaxBytes = 1100 * 4 })
		r.tell(t, system(trunk, "one"))
		require.NoError(t, r.Close())
		require.Len(t, chunkFiles(t, dir), 1, "a quarter of the store for one prompt")
		require.Empty(t, log.String())
		r = newRig(t, 4096, func(r *rig, c *Config) { withStore(t.TempDir(), &log)(r, c); c.KVStoreMaxBytes = 2000 })
		r.tell(t, system(trunk, "one"))
		r.tell(t, system(trunk, "two"))
		require.NoError(t, r.Close())
		require.Equal(t, 1, r.mem.saved, "it is not tried again")
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "Raise engine.kv_store_max_bytes")
	})
	t.Run("saving", func(t *testing.T) {
		t.Parallel()
		var log logged
		r := newRig(t, 4096, func(r *rig, c *Config) { withStore(t.TempDir(), &log)(r, c); r.mem.saveErr = errFake })
		r.tell(t, system(trunk, "one"))
		r.tell(t, system(trunk, "two"))
		require.NoError(t, r.Close())
		require.Equal(t, 1, r.mem.saved)
		require.Contains(t, log.String(), errFake.Error())
	})
	t.Run("restoring", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		r := newRig(t, 4096, withStore(dir, nil))
		r.tell(t, system(trunk, "one"))
		require.NoError(t, r.Close())
		var log logged
		r = newRig(t, 4096, func(r *rig, c *Config) { withStore(dir, &log)(r, c); r.mem.restoreErr = llama.ErrNoRoom })
		require.Zero(t, r.tell(t, system(trunk, "two")).RestoredTokens)
		require.Empty(t, log.String())
	})
	t.Run("damaged", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		r := newRig(t, 4096, withStore(dir, nil))
		r.tell(t, system(trunk, "one"))
		require.NoError(t, r.Close())
		damage(t, dir)
		r = newRig(t, 4096, withStore(dir, nil))
		require.Zero(t, r.tell(t, system(trunk, "two")).RestoredTokens)
		require.NoError(t, r.Close())
		r = newRig(t, 4096, withStore(dir, nil))
		require.Positive(t, r.tell(t, system(trunk, "three")).RestoredTokens, "good ones have replaced them")
	})
}

func TestStoreIsOff(t *testing.T) {
	t.Parallel()
	stamps := knownFile(t, t.TempDir())
	for _, c := range []Config{{}, {KVStorePath: t.TempDir()}, {KVStoreMaxBytes: 1 << 20}} {
		require.Nil(t, openShelf(c.withDefaults(), stamps, nil))
	}
	require.Nil(t, openShelf(Config{KVStorePath: t.TempDir(), KVStoreMaxBytes: 1 << 20}.withDefaults(), nil, nil), "a model that cannot be told from others")
	require.Empty(t, stampFiles([]string{"no such file"}))
	require.Len(t, stampFiles([]string{"shelf.go", "cuts.go"}), 2)
	require.ErrorContains(t, Config{ModelPath: "m", KVStoreMaxBytes: -1}.withDefaults().validate(), "-1 is negative")
	for _, i := range []llama.ModelInfo{{Decoder: true}, {Memory: llama.MemoryState}, {Memory: llama.MemoryMixed}, {Memory: llama.MemoryWindow, SlidingWindow: 512}} {
		require.True(t, keepable(i), "%+v", i)
	}
	for _, i := range []llama.ModelInfo{
		{Memory: llama.MemoryWhole}, {Memory: llama.MemoryMixed, SlidingWindow: 512}, {Memory: llama.MemoryWindow, SlidingWindow: 128}, {Encoder: true}, {Diffusion: true},
	} {
		require.False(t, keepable(i), "%+v", i)
	}
}

// The first process with a model reads it beside its work; until it is known, nothing is kept or restored.
func TestModelThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.WriteFile(path, []byte("weights"), 0o600))
	c := Config{KVStorePath: dir, KVStoreMaxBytes: 1 << 20}.withDefaults()
	s := openShelf(c, stampFiles([]string{path}), []string{"x"})
	store, err := kvstore.Open(dir, 1<<20, time.Now)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unknown := &shelf{store: store, log: c.Logger}
	unknown.sum(ctx, stampFiles([]string{path}), nil)
	require.Nil(t, unknown.root.Load())
	require.Nil(t, unknown.chain(letters("abc"), []int{1}))
	unknown.sum(t.Context(), stampFiles([]string{path}), []string{"x"})
	require.NotNil(t, unknown.root.Load())
	s.close()
	if root := s.root.Load(); root != nil { // it may have been closed before
		require.Equal(t, *root, *unknown.root.Load())
	}
	other := &shelf{store: store, log: c.Logger}
	other.sum(t.Context(), stampFiles([]string{path}), []string{"y"})
	require.NotEqual(t, *unknown.root.Load(), *other.root.Load())

	r := newRig(t, 4096, func(r *rig, c *Config) {
		withStore(dir, nil)(r, c)
		r.kept = openShelf(c.withDefaults(), knownFile(t, dir), nil)
		r.kept.root.Store(nil)
	})
	r.tell(t, system(trunk, "one"))
	require.NoError(t, r.Close())
	require.Zero(t, r.mem.saved)
}

func TestCancelWhileRestoring(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, 4096, withStore(dir, nil))
	r.tell(t, system(trunk, "one"))
	require.NoError(t, r.Close())
	r = newRig(t, 4096, withStore(dir, nil))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.GenerateContent(ctx, system(trunk, "two"), WithProgress(func(int, int) { cancel() }))
	if err != nil { // the owner may have been faster
		require.ErrorIs(t, err, context.Canceled)
	}
	u := r.tell(t, system(trunk, "two"))
	require.Less(t, u.EvaluatedTokens*10, u.PromptTokens)
}

// Exact chunks are those of a process that computed nothing before; a later one of better quality replaces a loose one.
func TestExactAndLooseChunks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, 4096, withStore(dir, nil))
	r.tell(t, user(strings.Repeat("something else ", 30)))
	r.tell(t, system(trunk, "one"))
	require.NoError(t, r.Close())
	// The keys of the trunk's chunks.
	tokens, err := r.model.Tokenize(promptOf("x"), false, true)
	require.NoError(t, err)
	require.NotEmpty(t, tokens)
	var log logged
	probe := newRig(t, 4096, withStore(dir, &log))
	_, toks, err := probe.render(llama.ChatRequest{Messages: []llama.ChatMessage{{Role: "system", Content: trunk}, {Role: "user", Content: "one"}}})
	require.NoError(t, err)
	at := cuts(toks, isFakeControl, isFakeEnd)
	keys := probe.kept.chain(toks, at)
	exact := func() (n int) {
		for _, k := range keys[:3] {
			if probe.kept.store.Has(k) {
				n++
			}
		}
		return n
	}
	require.Len(t, chunkFiles(t, dir), 3+1, "one of the other prompt")
	require.Zero(t, exact(), "another prompt was in the memory")

	// A process that restores them does not make them exact; one that computes them does.
	u := probe.tell(t, system(trunk, "one"))
	require.Positive(t, u.RestoredTokens)
	require.NoError(t, probe.Close())
	require.Zero(t, exact())
	for _, k := range keys {
		_ = os.Remove(filepath.Join(dir, k.Variant(loose).String()+".kv"))
	}
	again := newRig(t, 4096, withStore(dir, nil))
	require.Zero(t, again.tell(t, system(trunk, "one")).RestoredTokens)
	require.NoError(t, again.Close())
	require.Equal(t, 3, exact())
}

// Random conversations in random processes that share a folder, with damage: every reply is right, and the memory never
// gets what it must not.
func TestRandomStoreOperations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		limit := rapid.SampledFrom([]int64{1 << 20, 8000}).Draw(rt, "limit")
		size := rapid.SampledFrom([]int{1024, 4096}).Draw(rt, "size")
		batch := rapid.SampledFrom([]int{32, 512}).Draw(rt, "batch")
		kind := rapid.SampledFrom([]llama.MemoryKind{llama.MemoryCells, llama.MemoryState, llama.MemoryMixed}).Draw(rt, "kind")
		var r *rig
		start := func() {
			r = newRig(t, size, func(r *rig, c *Config) {
				r.mem.kind = kind
				withStore(dir, nil)(r, c)
				c.KVStoreMaxBytes, c.BatchSize = limit, batch
			})
		}
		start()
		defer func() { require.NoError(rt, r.Close()) }()
		talks := [][]llms.MessageContent{system(trunk[:400], "a"), system(trunk[:390]+"!", "b"), system(strings.Repeat("x", 300), "c")}
		steps := rapid.IntRange(3, 12).Draw(rt, "steps")
		for range steps {
			switch i := rapid.IntRange(0, len(talks)-1).Draw(rt, "talk"); rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				require.NoError(rt, r.Close())
				start()
			case 1:
				// What is there depends on how far the writer has come, so the draws do not.
				which, share := rapid.IntRange(0, 99).Draw(rt, "file"), rapid.IntRange(0, 99).Draw(rt, "share")
				if files := chunkFiles(rt, dir); len(files) > 0 {
					f := files[which%len(files)]
					if b, err := os.ReadFile(f); err == nil {
						_ = os.WriteFile(f, b[:len(b)*share/100], 0o600)
					}
				}
			case 2:
				ctx, cancel := context.WithCancel(context.Background())
				_, _ = r.GenerateContent(ctx, talks[i], WithProgress(func(int, int) { cancel() }))
				cancel()
			case 3:
				if len(talks[i]) < 8 {
					talks[i] = append(talks[i], llms.TextParts(llms.ChatMessageTypeAI, strings.Repeat("r", 30)), llms.TextParts(llms.ChatMessageTypeHuman, fmt.Sprint(len(talks[i]))))
				}
				r.tell(rt, talks[i])
			default:
				r.tell(rt, talks[i])
			}
		}
	})
}
