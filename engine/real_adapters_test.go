//go:build cgo && !nollama

package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/internal/testgguf"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
)

// tinyMatrices are some of the small test model's, with their widths and heights.
var tinyMatrices = map[string][2]int{
	"blk.0.attn_q.weight": {576, 576}, "blk.3.attn_v.weight": {576, 192}, "blk.9.ffn_down.weight": {1536, 576},
}

// pirate changes these at random.
func pirate(t testing.TB) string {
	return testgguf.LoRA("llama", 4, 0.6, tinyMatrices).Write(t, "pirate.gguf")
}

func with(list ...Adapter) func(*Config) { return func(c *Config) { c.Adapters = list } }

// What the model computes with an adapter of scale 0 is what it computes without one, to the last bit. Otherwise it is not,
// and the more so the larger the scale.
func TestRealAdapterChangesTheLogits(t *testing.T) {
	path := pirate(t)
	logits := func(list ...Adapter) (text string, first []float32) {
		e, seen := openKept(t, "", with(list...))
		text = say(t, e, user("Where does an owl sit? Answer in one sentence.")).Content
		require.NoError(t, e.Close())
		return text, seen.rows[0]
	}
	difference := func(v, w []float32) float64 {
		out := 0.0
		for i := range v {
			out = max(out, max(float64(v[i]-w[i]), float64(w[i]-v[i])))
		}
		return out
	}
	text, base := logits()
	again, off := logits(Adapter{path, 0})
	require.Equal(t, text, again)
	require.Equal(t, base, off)
	weak := difference(base, func() []float32 { _, l := logits(Adapter{path, 0.05}); return l }())
	changed, strong := logits(Adapter{path, 1})
	require.NotEqual(t, text, changed)
	require.Positive(t, weak)
	require.Greater(t, difference(base, strong), 2*weak)

	// Scale and rank: the same change by alpha, and by two adapters of half the scale.
	half := testgguf.LoRA("llama", 4, 0.6, tinyMatrices)
	half.Pairs["adapter.lora.alpha"] = float32(2)
	_, byAlpha := logits(Adapter{half.Write(t, "half.gguf"), 2})
	require.Less(t, difference(strong, byAlpha), 0.01*difference(base, strong))
	_, byTwo := logits(Adapter{path, 0.5}, Adapter{pirate(t), 0.5})
	require.Less(t, difference(strong, byTwo), 0.2*difference(base, strong))
}

func TestRealAdapterIsShown(t *testing.T) {
	path := pirate(t)
	e := open(t, testmodel.Tiny, with(Adapter{path, 0.5}))
	require.Equal(t, []AdapterInfo{{Adapter: Adapter{path, 0.5}, Matrices: 3, Rank: 4}}, e.Info().Adapters)
	plain := open(t, testmodel.Tiny)
	require.Empty(t, plain.Info().Adapters)
	off := open(t, testmodel.Tiny, with(Adapter{path, 0}))
	require.Empty(t, off.Info().Adapters)
	require.Equal(t, say(t, plain, user("Hi.")).Content, say(t, off, user("Hi.")).Content)

	norms := testgguf.LoRA("llama", 4, 0.1, tinyMatrices)
	norms.Tensors = append(norms.Tensors, testgguf.Constant("blk.0.attn_norm.weight", 1, 576))
	var notices logged
	open(t, testmodel.Tiny, func(c *Config) {
		c.Adapters, c.Notices = []Adapter{{norms.Write(t, "norms.gguf"), 1}}, notices.logger()
	})
	require.Contains(t, notices.String(), "are left out (1)")
}

// KV state that was computed with an adapter is taken by nobody who has another one, another scale or none.
func TestRealStoreKnowsAdapters(t *testing.T) {
	dir := t.TempDir()
	one := pirate(t)
	same := filepath.Join(t.TempDir(), "renamed.gguf")
	data, err := os.ReadFile(one)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(same, data, 0o600))
	texts := map[string]string{}
	for _, c := range []struct {
		name     string
		adapters []Adapter
		restored bool
	}{
		{"none", nil, false}, {"scale 1", []Adapter{{one, 1}}, false}, {"scale 0.5", []Adapter{{one, 0.5}}, false},
		{"none", nil, true}, {"scale 1", []Adapter{{same, 1}}, true},
	} {
		e, _ := openKept(t, dir, with(c.adapters...))
		reply := say(t, e, question("Where?"))
		require.Equal(t, c.restored, usage(reply).RestoredTokens > 0, "%s %v", c.name, c.adapters)
		require.NoError(t, e.Close())
		if c.restored {
			require.Equal(t, texts[c.name], reply.Content, c.name)
		}
		texts[c.name] = reply.Content
	}
	require.NotEqual(t, texts["none"], texts["scale 1"])

	// By Open too. With scale 0 the model's own state is taken.
	third := testgguf.LoRA("llama", 4, 0.4, tinyMatrices).Write(t, "pirate.gguf")
	store, err := kvstore.Open(dir, 1<<30, time.Now)
	require.NoError(t, err)
	_, err = store.Sum(t.Context(), stampFiles([]string{third})[0]) // so that the store is used from the first call on
	require.NoError(t, err)
	for _, c := range []struct {
		adapter Adapter
		text    string // empty: it is computed
	}{{Adapter{third, 1}, ""}, {Adapter{same, 1}, texts["scale 1"]}, {Adapter{one, 0}, texts["none"]}} {
		e, err := Open(t.Context(), Config{
			ModelPath: testmodel.Path(t, testmodel.Tiny), ContextSize: 2048, Threads: 1, MaxTokens: 12, KVStorePath: dir, KVStoreMaxBytes: 1 << 30,
			Adapters: []Adapter{c.adapter},
		})
		require.NoError(t, err)
		reply := say(t, e, question("Where?"))
		require.Equal(t, c.text != "", usage(reply).RestoredTokens > 0, "%v", c.adapter)
		if c.text != "" {
			require.Equal(t, c.text, reply.Content)
		}
		require.NoError(t, e.Close())
	}
}

func TestRealUnusableAdapters(t *testing.T) {
	matrix := func(name string, width, height int) testgguf.File {
		return testgguf.LoRA("llama", 4, 0.1, map[string][2]int{name: {width, height}})
	}
	good := testgguf.LoRA("llama", 4, 0.1, tinyMatrices)
	qwen := testgguf.LoRA("qwen2", 4, 0.1, tinyMatrices)
	// Its rows are looked up and its columns are the output: llama.cpp would end the process.
	vocabulary := testgguf.File{Pairs: good.Pairs, Tensors: []testgguf.Tensor{
		testgguf.Random("token_embd.weight.lora_a", 1, 0.1, 4, 49152), testgguf.Random("token_embd.weight.lora_b", 2, 0.1, 4, 576),
	}}
	folder := t.TempDir()
	whole := good.Bytes()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cut.gguf"), whole[:len(whole)-100], 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "text.gguf"), []byte("no adapter"), 0o600))
	for path, reason := range map[string]string{
		filepath.Join(folder, "no.gguf"):                            "does not exist",
		filepath.Join(folder, "cut.gguf"):                           "truncated",
		filepath.Join(folder, "text.gguf"):                          "not a GGUF file",
		folder:                                                      "is a folder",
		testmodel.Path(t, testmodel.Tiny):                           "no adapter",
		qwen.Write(t, "qwen.gguf"):                                  "architecture",
		matrix("blk.0.attn_q.weight", 896, 896).Write(t, "a.gguf"):  "do not fit",
		matrix("blk.30.attn_q.weight", 576, 576).Write(t, "a.gguf"): "does not have",
		vocabulary.Write(t, "vocabulary.gguf"):                      "also uses for its output",
	} {
		_, err := Open(t.Context(), Config{ModelPath: testmodel.Path(t, testmodel.Tiny), Adapters: []Adapter{{path, 0}}})
		var ae *AdapterError
		require.ErrorAs(t, err, &ae, reason)
		require.Equal(t, path, ae.Path)
		require.ErrorContains(t, err, reason)
		require.NotContains(t, err.Error(), "\n")
	}
	require.True(t, strings.HasPrefix((&AdapterError{"a.gguf", "bad", "fix it"}).Error(), "LoRA adapter a.gguf: bad; fix it"))

	// What llama.cpp refuses itself.
	c := Config{ModelPath: testmodel.Path(t, testmodel.Tiny), Adapters: []Adapter{{matrix("blk.99.attn_q.weight", 576, 576).Write(t, "a.gguf"), 1}}}
	_, _, _, err := openBackend(t.Context(), c.withDefaults())
	var ae *AdapterError
	require.ErrorAs(t, err, &ae)
	require.ErrorContains(t, err, "could not load the adapter")
}
