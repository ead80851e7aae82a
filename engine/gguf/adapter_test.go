package gguf

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tinyAdapter changes two matrices of tinyModel with ranks 4 and 2.
func tinyAdapter() *file {
	return &file{version: 3, pairs: map[string]any{
		"general.type": "adapter", "general.architecture": "llama", "general.name": "Pirate",
		"adapter.type": "lora", "adapter.lora.alpha": float32(8),
	}, tensors: []testTensor{
		{name: "blk.0.attn_q.weight.lora_a", dims: []uint64{32, 4}}, {name: "blk.0.attn_q.weight.lora_b", dims: []uint64{4, 32}},
		{name: "blk.1.ffn_down.weight.lora_b", dims: []uint64{2, 32}}, {name: "blk.1.ffn_down.weight.lora_a", dims: []uint64{64, 2}},
		{name: "blk.0.attn_norm.weight", dims: []uint64{32}},
	}}
}

// withTensors replaces the tensors.
func (f *file) withTensors(list ...testTensor) *file {
	f.tensors = list
	return f
}

// pairOf are the two tensors of a change of rank 4.
func pairOf(name string, a, b []uint64) *file {
	return tinyAdapter().withTensors(testTensor{name: name + ".lora_a", dims: a}, testTensor{name: name + ".lora_b", dims: b})
}

func inspected(t *testing.T, f *file) *Info {
	t.Helper()
	info, err := Inspect(f.write(t, "base.gguf"))
	require.NoError(t, err)
	require.NoError(t, info.Check())
	return info
}

func TestInspectAdapter(t *testing.T) {
	t.Parallel()
	f := tinyAdapter()
	path := f.write(t, "pirate.gguf")
	a, err := InspectAdapter(path, inspected(t, tinyModel()))
	require.NoError(t, err)
	require.Equal(t, &Adapter{Path: path, Name: "Pirate", FileBytes: int64(len(f.bytes())), Matrices: 2, Rank: 4, Ignored: 1}, a)
	_, err = InspectAdapter(tinyAdapter().without("adapter.lora.alpha").write(t, "plain.gguf"), inspected(t, tinyModel()))
	require.NoError(t, err)
}

// Matrices of the vocabulary: rows of the first are looked up, so its change is turned the other way round, and only when
// the output has a matrix of its own.
func TestInspectAdapterOfTheVocabulary(t *testing.T) {
	t.Parallel()
	vocabulary := tinyModel().tensors[0].dims[1]
	tied := inspected(t, tinyModel())
	separate := tinyModel()
	separate.tensors = append(separate.tensors, testTensor{name: "output.weight", dims: []uint64{32, vocabulary}})
	free := inspected(t, separate)
	lookedUp := pairOf("token_embd.weight", []uint64{4, vocabulary}, []uint64{4, 32})

	_, err := InspectAdapter(lookedUp.write(t, "a.gguf"), free)
	require.NoError(t, err)
	_, err = InspectAdapter(lookedUp.write(t, "a.gguf"), tied)
	require.ErrorContains(t, err, "also uses for its output")
	_, err = InspectAdapter(pairOf("output.weight", []uint64{32, 4}, []uint64{4, vocabulary}).write(t, "a.gguf"), free)
	require.NoError(t, err)
	for _, wrong := range []*file{
		pairOf("token_embd.weight", []uint64{32, 4}, []uint64{4, vocabulary}),
		pairOf("token_embd.weight", []uint64{3, vocabulary}, []uint64{4, 32}),
	} {
		_, err = InspectAdapter(wrong.write(t, "a.gguf"), free)
		require.ErrorContains(t, err, "do not fit")
	}
}

func TestInspectAdapterOfExperts(t *testing.T) {
	t.Parallel()
	model := tinyModel().with("llama.expert_count", uint32(8)).with("llama.expert_used_count", uint32(2))
	model.tensors = append(model.tensors, testTensor{name: "blk.0.ffn_up_exps.weight", dims: []uint64{32, 64, 8}})
	base := inspected(t, model)
	_, err := InspectAdapter(pairOf("blk.0.ffn_up_exps.weight", []uint64{32, 4, 8}, []uint64{4, 64, 8}).write(t, "a.gguf"), base)
	require.NoError(t, err)
	_, err = InspectAdapter(pairOf("blk.0.ffn_up_exps.weight", []uint64{32, 4, 8}, []uint64{4, 64}).write(t, "a.gguf"), base)
	require.ErrorContains(t, err, "do not fit the model's [32 64 8 1]")
}

func TestInspectAdapterRefuses(t *testing.T) {
	t.Parallel()
	q := func(a, b []uint64) *file { return pairOf("blk.0.attn_q.weight", a, b) }
	good := func() *file { return q([]uint64{32, 4}, []uint64{4, 32}) }
	noData := tinyAdapter()
	noData.noData = true
	integers := good()
	integers.tensors[0].kind = 24
	tests := map[string]struct {
		file   *file
		reason string
	}{
		"model":               {tinyModel(), `it is no adapter (general.type is "model")`},
		"projector":           {tinyAdapter().with("general.type", "mmproj"), `general.type is "mmproj"`},
		"type a number":       {tinyAdapter().with("general.type", uint32(1)), "it is no adapter"},
		"control vector":      {tinyAdapter().with("adapter.type", "control"), `an adapter of the type "control"`},
		"no kind":             {tinyAdapter().without("adapter.type"), `an adapter of the type ""`},
		"kind a number":       {tinyAdapter().with("adapter.type", uint32(1)), `an adapter of the type ""`},
		"other architecture":  {tinyAdapter().with("general.architecture", "qwen2"), `made for a model of the architecture "qwen2"`},
		"no architecture":     {tinyAdapter().without("general.architecture"), `made for a model of the architecture ""`},
		"activated":           {tinyAdapter().with("adapter.alora.invocation_tokens", []uint32{1}), "activated LoRA"},
		"alpha an integer":    {tinyAdapter().with("adapter.lora.alpha", uint32(8)), "adapter.lora.alpha is no number"},
		"alpha not a number":  {tinyAdapter().with("adapter.lora.alpha", float32(math.NaN())), "adapter.lora.alpha is no number"},
		"alpha infinite":      {tinyAdapter().with("adapter.lora.alpha", float32(math.Inf(1))), "adapter.lora.alpha is no number"},
		"truncated":           {noData, "it is truncated"},
		"empty":               {tinyAdapter().withTensors(), "it changes nothing"},
		"norms only":          {tinyAdapter().withTensors(tinyAdapter().tensors[4]), "it changes nothing"},
		"no b":                {good().withTensors(good().tensors[0]), `its tensor "blk.0.attn_q.weight.lora_b" is missing`},
		"no a":                {good().withTensors(good().tensors[1]), `its tensor "blk.0.attn_q.weight.lora_a" is missing`},
		"whole matrix":        {tinyAdapter().withTensors(testTensor{name: "blk.0.attn_q.weight", dims: []uint64{32, 32}}), "is no part of a LoRA adapter"},
		"twice named":         {pairOf("blk.0.attn_q.weight.lora_a", []uint64{32, 4}, []uint64{4, 32}), "which the model does not have"},
		"no such tensor":      {pairOf("blk.7.attn_q.weight", []uint64{32, 4}, []uint64{4, 32}), `it changes the tensor "blk.7.attn_q.weight", which the model does not have`},
		"other width":         {q([]uint64{64, 4}, []uint64{4, 32}), "its change of \"blk.0.attn_q.weight\" has the shapes [64 4 1 1] and [4 32 1 1], which do not fit the model's [32 32 1 1]"},
		"other height":        {q([]uint64{32, 4}, []uint64{4, 64}), "do not fit"},
		"unequal ranks":       {q([]uint64{32, 4}, []uint64{2, 32}), "do not fit"},
		"not turned":          {q([]uint64{4, 32}, []uint64{4, 32}), "do not fit"},
		"rank 0":              {q([]uint64{32, 0}, []uint64{0, 32}), "do not fit"},
		"a block too many":    {q([]uint64{32, 4, 2}, []uint64{4, 32}), "do not fit"},
		"a vector":            {pairOf("output_norm.weight", []uint64{32, 4}, []uint64{4}), "which is no matrix"},
		"integers":            {integers, `its tensor "blk.0.attn_q.weight.lora_a" has a type`},
		"terminal characters": {tinyAdapter().withTensors(testTensor{name: "\x1b[31m", dims: []uint64{1}}), `its tensor "[31m" is no part`},
	}
	base := inspected(t, tinyModel())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tt.file.write(t, "a.gguf")
			_, err := InspectAdapter(path, base)
			var fe *FileError
			require.ErrorAs(t, err, &fe)
			require.Contains(t, fe.Reason, tt.reason)
			require.Equal(t, path, fe.Path)
			require.NotEmpty(t, fe.Fix)
			require.Contains(t, err.Error(), "LoRA adapter ")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestInspectAdapterOfAQuantizationThatTakesNone(t *testing.T) {
	t.Parallel()
	model := tinyModel()
	for i := range model.tensors {
		if model.tensors[i].name == "blk.1.ffn_down.weight" {
			model.tensors[i].kind = 40
		}
	}
	base := inspected(t, model)
	_, err := InspectAdapter(tinyAdapter().write(t, "a.gguf"), base)
	require.ErrorContains(t, err, "NVFP4")
}

func TestInspectAdapterOfUnreadableFiles(t *testing.T) {
	t.Parallel()
	base := inspected(t, tinyModel())
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pirate.gguf"), nil, 0o644))
	for path, reason := range map[string]string{
		filepath.Join(folder, "pirates.gguf"): `it does not exist; the folder holds "pirate.gguf"`,
		filepath.Join(folder, "pirate.gguf"):  "it is empty",
		folder:                                "it is a folder",
		writeFile(t, "a.safetensors", []byte("P\x00\x00\x00\x00\x00\x00\x00{}")): "safetensors",
		writeFile(t, "cut.gguf", tinyAdapter().bytes()[:100]):                    "truncated",
	} {
		_, err := InspectAdapter(path, base)
		require.ErrorContains(t, err, "LoRA adapter ")
		require.ErrorContains(t, err, reason)
	}
	// The model went away meanwhile.
	require.NoError(t, os.Remove(base.Path))
	_, err := InspectAdapter(tinyAdapter().write(t, "a.gguf"), base)
	require.ErrorContains(t, err, "model file ")
}

func FuzzInspectAdapter(f *testing.F) {
	for _, seed := range []*file{tinyAdapter(), pairOf("token_embd.weight", []uint64{4, 264}, []uint64{4, 32}), tinyModel()} {
		seed.noData = true
		f.Add(seed.bytes())
	}
	h, err := checkedHeader(bytes.NewReader(tinyModel().bytes()), 1<<20)
	require.NoError(f, err)
	base := newInfo(h, 1<<20)
	model := map[string]tensor{}
	for _, t := range h.tensors {
		model[t.name] = t
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := checkedHeader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		a, err := newAdapter("a.gguf", h, h.expectedBytes, base, func() (map[string]tensor, error) { return model, nil })
		if err != nil {
			require.ErrorAs(t, err, new(*FileError))
			return
		}
		require.Positive(t, a.Matrices)
		require.Positive(t, a.Rank)
	})
}
