package gguf

import (
	"fmt"
	"slices"
)

// Limits of the pinned llama.cpp that it asserts, which ends the process: src/llama-hparams.h.
const (
	maxLayers  = 512  // LLAMA_MAX_LAYERS
	maxExperts = 1024 // LLAMA_MAX_EXPERTS
)

// Beyond these, a header is taken for damaged.
const (
	maxHeads     = 1 << 13
	maxEmbedding = 1 << 20
)

const againFix = "download the file again, and compare its checksum with the publisher's"

// Check returns nil when the pinned llama.cpp may be given the file for chat, or a *[FileError] with the reason against it.
func (info *Info) Check() error {
	return info.checkAll(
		info.checkPurpose,
		info.checkSplit,
		info.checkArchitecture,
		info.checkSize,
		info.checkShape,
		info.checkExperts,
		info.checkTokenizer,
		info.checkTensors,
	)
}

// checkAll returns the first error of some checks, or of a part of a split model.
func (info *Info) checkAll(checks ...func() *FileError) error {
	for _, check := range checks {
		if err := check(); err != nil {
			err.Path = info.Path
			return err
		}
	}
	return info.partErr
}

// checkPurpose refuses files that are no models.
func (info *Info) checkPurpose() *FileError {
	const fix = "set engine.model_path to the model itself"
	switch info.kind {
	case "adapter":
		return &FileError{Reason: "it is a LoRA adapter, not a model", Fix: "set engine.model_path to the model it was made for, and name the adapter in engine.lora"}
	case "mmproj":
		return &FileError{Reason: "it is a projector (mmproj), which only accompanies a model", Fix: fix}
	case "imatrix":
		return &FileError{Reason: "it is an importance matrix for quantising, not a model", Fix: fix}
	}
	return nil
}

func (info *Info) checkArchitecture() *FileError {
	return info.checkArchitectureFor(false, "use a chat or instruct model")
}

// checkArchitectureFor refuses what cannot compute text or, when that is asked for, embeddings.
func (info *Info) checkArchitectureFor(embeddings bool, fix string) *FileError {
	arch := info.Architecture
	what, helper := helperArchitectures[arch]
	switch {
	case arch == "":
		return &FileError{Reason: "it does not name its architecture (general.architecture)", Fix: againFix}
	case !slices.Contains(architectures, arch):
		return &FileError{Reason: fmt.Sprintf("its architecture %q is not one that the built-in llama.cpp knows", arch), Fix: "use another model, or a newer release of this program"}
	case helper:
		return &FileError{Reason: fmt.Sprintf("its architecture %q is %s", arch, what), Fix: fix}
	case info.EmbeddingOnly && !embeddings:
		return &FileError{Reason: fmt.Sprintf("it is an embedding model (architecture %q) and cannot chat", arch), Fix: fix}
	case slices.Contains(diffusionArchitectures, arch):
		return &FileError{Reason: fmt.Sprintf("it is a diffusion model (architecture %q), which does not write token by token", arch), Fix: fix}
	case info.tensors == 0:
		return &FileError{Reason: "it holds a vocabulary but no weights", Fix: "use a complete model file"}
	}
	return nil
}

func (info *Info) checkSize() *FileError {
	if info.FileBytes >= info.ExpectedBytes {
		return nil
	}
	return &FileError{
		Reason: fmt.Sprintf("it is truncated: %d bytes expected, %d bytes there", info.ExpectedBytes, info.FileBytes),
		Fix:    "download it again; the download did not finish",
	}
}

// checkShape covers the assertions and integer divisions of load_hparams (src/llama-model.cpp and src/models/).
func (info *Info) checkShape() *FileError {
	for _, key := range []string{"context_length", "embedding_length", "block_count"} {
		if err := info.checkUint32(key); err != nil {
			return err
		}
	}
	blocks, nextn := info.BlockCount, info.own("nextn_predict_layers")
	interval, hasInterval := info.meta[info.key("full_attention_interval")]
	switch {
	case blocks < 1 || blocks > maxLayers:
		return info.absurd("block_count", fmt.Sprintf("1 to %d", maxLayers))
	case nextn > blocks || nextn == blocks && nextn > 0:
		return info.absurd("nextn_predict_layers", fmt.Sprintf("less than the %d layers", blocks))
	case info.ContextLength < 1:
		return info.absurd("context_length", "1 or more")
	case info.EmbeddingLength < 1 || info.EmbeddingLength > maxEmbedding:
		return info.absurd("embedding_length", fmt.Sprintf("1 to %d", maxEmbedding))
	case hasInterval && interval.num == 0:
		return info.absurd("full_attention_interval", "1 or more")
	}
	if scaling, ok := info.meta[info.key("rope.scaling.type")]; ok {
		if !slices.Contains([]string{"none", "linear", "yarn", "longrope"}, scaling.text) {
			return &FileError{Reason: fmt.Sprintf("its %s is %q, which llama.cpp does not know", info.key("rope.scaling.type"), clean(scaling.text)), Fix: againFix}
		}
	}
	for _, key := range []string{"layer_norm_rms_epsilon", "layer_norm_epsilon", "group_norm_epsilon"} {
		key = info.key("attention." + key)
		if eps, ok := info.meta.float(key); ok && !(eps >= 0) {
			return &FileError{Reason: fmt.Sprintf("its %s is %v instead of 0 or more", key, eps), Fix: againFix}
		}
	}
	return info.checkHeads()
}

// checkHeads makes sure that query heads can share key/value heads: attention divides one count by the other.
func (info *Info) checkHeads() *FileError {
	if info.Recurrent {
		return nil
	}
	for _, key := range []string{"attention.head_count", "attention.head_count_kv", "feed_forward_length"} {
		if v := info.meta[info.key(key)]; v.kind == kindArray && v.count != uint64(info.BlockCount) {
			return &FileError{Reason: fmt.Sprintf("its %s has %d elements for %d layers", info.key(key), v.count, info.BlockCount), Fix: againFix}
		}
	}
	heads := info.meta.perLayer(info.key("attention.head_count"), info.BlockCount)
	kvHeads := info.meta.perLayer(info.key("attention.head_count_kv"), info.BlockCount)
	if info.HeadCount < 1 || info.HeadCount > maxHeads {
		return info.absurd("attention.head_count", fmt.Sprintf("1 to %d", maxHeads))
	}
	if info.KeyLength < 1 || info.KeyLength > maxEmbedding || info.ValueLength < 1 || info.ValueLength > maxEmbedding {
		return &FileError{Reason: fmt.Sprintf("its attention heads have %d key and %d value elements", info.KeyLength, info.ValueLength), Fix: againFix}
	}
	for i := range kvHeads {
		if kv := kvHeads[i]; kv > heads[i] || kv > 0 && heads[i]%kv != 0 {
			return &FileError{Reason: fmt.Sprintf("%d attention heads cannot share %d key/value heads (layer %d)", heads[i], kv, i), Fix: againFix}
		}
	}
	if info.HeadCountKV < 1 {
		return info.absurd("attention.head_count_kv", "1 or more")
	}
	return info.checkRotation(heads[0])
}

// checkRotation repeats what the graphs assert about the sizes of keys, values and their rotated part. Layers with a size
// of their own for sliding windows are left to llama.cpp.
func (info *Info) checkRotation(firstHeads int) *FileError {
	if sections := info.meta.perLayer(info.key("rope.dimension_sections"), 4); slices.Contains(sectionArchitectures, info.Architecture) {
		if len(sections) == 0 || slices.Max(sections[:3]) == 0 {
			return info.absurd("rope.dimension_sections", "four numbers, not all 0")
		}
	}
	rotated, given := info.meta[info.key("rope.dimension_count")]
	for _, key := range []string{"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"} {
		if _, ok := info.meta[info.key(key)]; ok || firstHeads == 0 {
			return nil
		}
	}
	odd := given && (rotated.num%2 != 0 || rotated.num > int64(info.KeyLength))
	partly := given && rotated.num != int64(info.KeyLength) && slices.Contains(fullRopeArchitectures, info.Architecture)
	unequal := info.KeyLength != info.ValueLength && slices.Contains(equalHeadArchitectures, info.Architecture)
	if !odd && !partly && !unequal {
		return nil
	}
	got := info.KeyLength
	if given {
		got = clamp(rotated.num)
	}
	return &FileError{
		Reason: fmt.Sprintf("its attention heads make no sense: %d key and %d value elements, %d of them rotated", info.KeyLength, info.ValueLength, got),
		Fix:    againFix,
	}
}

// checkExperts repeats the assertions about mixture-of-experts models.
func (info *Info) checkExperts() *FileError {
	used := 0
	if counts := info.meta.perLayer(info.key("expert_used_count"), info.BlockCount); len(counts) > 0 {
		used = slices.Max(counts)
	}
	experts, groups, usedGroups := info.own("expert_count"), info.own("expert_group_count"), info.own("expert_group_used_count")
	if experts <= 1 && (info.Architecture == "hunyuan-dense" || info.Architecture == "hunyuan_vl") {
		experts, used = 0, 0 // as llama.cpp does
	}
	ok := experts <= maxExperts && used <= experts && (experts > 0 || !slices.Contains(expertArchitectures, info.Architecture))
	if experts > 0 {
		ok = ok && used > 0 && groups < experts
		if groups > 1 {
			ok = ok && experts%groups == 0 && usedGroups > 0 && usedGroups < groups
		}
	} else {
		ok = ok && groups == 0
	}
	if ok {
		return nil
	}
	return &FileError{
		Reason: fmt.Sprintf("its counts of experts make no sense: %d experts, %d used; %d groups, %d used", experts, used, groups, usedGroups),
		Fix:    againFix,
	}
}

func (info *Info) checkTokenizer() *FileError {
	switch {
	case info.TokenizerModel == "" || info.TokenizerModel == "none" || info.TokenizerModel == "no_vocab" || info.meta.length("tokenizer.ggml.tokens") == 0:
		return &FileError{Reason: "it has no vocabulary", Fix: "use a complete model file"}
	case info.duplicated:
		return &FileError{Reason: "two tokens of its vocabulary are equal", Fix: againFix}
	}
	return nil
}

// checkTensors refuses formats in which llama.cpp stores intermediate results or indexes: it loads such weights and fails
// when it computes with them.
func (info *Info) checkTensors() *FileError {
	if info.unusable.name == "" {
		return nil
	}
	layout, _ := lookupType(info.unusable.kind)
	return &FileError{
		Reason: fmt.Sprintf("its tensor %q has the type %s, with which llama.cpp cannot compute", clean(info.unusable.name), layout.name),
		Fix:    "use another quantization of the model",
	}
}

// key is the full name of a metadata key of the model's architecture.
func (info *Info) key(name string) string {
	return info.Architecture + "." + name
}

func (info *Info) own(name string) int {
	return info.meta.integer(info.key(name))
}

// checkUint32 makes sure that a key is there in the one type that llama.cpp takes for it.
func (info *Info) checkUint32(name string) *FileError {
	switch v, ok := info.meta[info.key(name)]; {
	case !ok:
		return &FileError{Reason: fmt.Sprintf("its metadata lack %s", info.key(name)), Fix: againFix}
	case v.kind != kindUint32:
		return &FileError{Reason: fmt.Sprintf("its %s has the type %s instead of u32", info.key(name), v.kind), Fix: againFix}
	}
	return nil
}

// absurd says that a number is out of range.
func (info *Info) absurd(name, want string) *FileError {
	v, ok := info.meta[info.key(name)]
	if !ok {
		return &FileError{Reason: fmt.Sprintf("its metadata lack %s", info.key(name)), Fix: againFix}
	}
	got := fmt.Sprint(v.num)
	switch v.kind {
	case kindArray:
		got = fmt.Sprint(v.items)
	case kindString, kindFloat32, kindFloat64:
		got = "a value of type " + v.kind.String()
	}
	return &FileError{Reason: fmt.Sprintf("its %s is %s instead of %s", info.key(name), clean(got), want), Fix: againFix}
}
