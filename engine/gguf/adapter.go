package gguf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
)

// Suffixes of the two low-rank matrices that change one matrix of the model.
const (
	suffixA = ".lora_a"
	suffixB = ".lora_b"
)

// embedding and head are the two matrices of a model that a vocabulary has rows in. A model without the second uses the
// first for both.
const (
	embedding = "token_embd.weight"
	head      = "output.weight"
)

// adapterFix is what to do about a damaged adapter.
const adapterFix = "get it again, or convert it anew with llama.cpp's convert_lora_to_gguf.py"

// Adapter describes one file with a LoRA adapter. It is a value without resources.
type Adapter struct {
	Path      string
	Name      string // the adapter's own name; may be empty
	FileBytes int64
	Matrices  int // matrices of the model that it changes
	Rank      int // of the largest change
	Ignored   int // tensors that llama.cpp does not apply: norms
}

// InspectAdapter reads the header of a LoRA adapter and of the model that it is to change, and says whether the pinned
// llama.cpp can apply the one to the other. It exists because llama.cpp finds several mistakes only with an assertion
// that ends the process. Errors: a *[FileError] about the adapter, or about a file of the model that cannot be read.
func InspectAdapter(path string, base *Info) (*Adapter, error) {
	h, size, err := headerOf(path)
	if err != nil {
		if fe, ok := errors.AsType[*FileError](err); ok {
			fe.what = "LoRA adapter"
			if !errors.Is(err, fs.ErrNotExist) {
				fe.Fix = adapterFix
			}
		}
		return nil, err
	}
	return newAdapter(path, h, size, base, func() (map[string]tensor, error) { return tensorsOf(base) })
}

// newAdapter checks a header against the tensors of the model, which are read only for an adapter that may be one.
func newAdapter(path string, h *header, size int64, base *Info, tensors func() (map[string]tensor, error)) (*Adapter, error) {
	refuse := func(err *FileError) (*Adapter, error) {
		err.Path, err.what = path, "LoRA adapter"
		return nil, err
	}
	if err := checkAdapterKind(h, base); err != nil {
		return refuse(err)
	}
	if size < h.expectedBytes {
		return refuse(&FileError{Reason: fmt.Sprintf("it is truncated: %d bytes expected, %d bytes there", h.expectedBytes, size), Fix: adapterFix})
	}
	a := &Adapter{Path: path, Name: clean(h.meta.text("general.name")), FileBytes: size}
	pairs, err := a.pairs(h)
	if err != nil {
		return refuse(err)
	}
	model, other := tensors()
	if other != nil {
		return nil, other
	}
	for _, p := range pairs {
		if err := p.fits(model); err != nil {
			return refuse(err)
		}
		a.Rank = max(a.Rank, clamp(int64(p.b.shape[0])))
	}
	a.Matrices = len(pairs)
	return a, nil
}

// checkAdapterKind refuses what is no LoRA adapter of the model's architecture, and metadata on which llama.cpp aborts.
func checkAdapterKind(h *header, base *Info) *FileError {
	const fix = "name a LoRA adapter in GGUF format, made with llama.cpp's convert_lora_to_gguf.py"
	kind, arch := h.meta.text("general.type"), clean(h.meta.text("general.architecture"))
	alpha, number := h.meta.float("adapter.lora.alpha")
	_, hasAlpha := h.meta["adapter.lora.alpha"]
	_, activated := h.meta["adapter.alora.invocation_tokens"]
	switch {
	case kind != "adapter":
		return &FileError{Reason: fmt.Sprintf("it is no adapter (general.type is %q)", cmp.Or(clean(kind), "model")), Fix: fix}
	case h.meta.text("adapter.type") != "lora":
		return &FileError{Reason: fmt.Sprintf("it is an adapter of the type %q, not lora", clean(h.meta.text("adapter.type"))), Fix: fix}
	case activated:
		return &FileError{Reason: "it is an activated LoRA (aLoRA), which works only from certain tokens on", Fix: "use a plain LoRA adapter"}
	case arch != base.Architecture:
		return &FileError{Reason: fmt.Sprintf("it was made for a model of the architecture %q, and %q is %q", arch, base.Path, base.Architecture), Fix: "use it with the model that it was made for"}
	case hasAlpha && (!number || math.IsNaN(float64(alpha)) || math.IsInf(float64(alpha), 0)):
		return &FileError{Reason: "its adapter.lora.alpha is no number of the type f32", Fix: adapterFix}
	}
	return nil
}

// pair is a change of one matrix: the product of b and a is added to it.
type pair struct {
	name string // of the matrix
	a, b tensor // without a name: it is not there
}

// pairs joins the tensors of an adapter, in the order of the matrices' names.
func (a *Adapter) pairs(h *header) ([]pair, *FileError) {
	byName := map[string]*pair{}
	at := func(name string) *pair {
		if byName[name] == nil {
			byName[name] = &pair{name: name}
		}
		return byName[name]
	}
	for _, t := range h.tensors {
		if name, ok := strings.CutSuffix(t.name, suffixA); ok {
			at(name).a = t
		} else if name, ok := strings.CutSuffix(t.name, suffixB); ok {
			at(name).b = t
		} else if strings.HasSuffix(t.name, "_norm.weight") {
			a.Ignored++
		} else {
			return nil, &FileError{Reason: fmt.Sprintf("its tensor %q is no part of a LoRA adapter", clean(t.name)), Fix: adapterFix}
		}
	}
	var list []pair
	for _, p := range byName {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(p, q pair) int { return cmp.Compare(p.name, q.name) })
	for _, p := range list {
		missing := suffixA
		if p.a.name != "" {
			missing = suffixB
		}
		if p.a.name == "" || p.b.name == "" {
			return nil, &FileError{Reason: fmt.Sprintf("its tensor %q is missing", clean(p.name)+missing), Fix: adapterFix}
		}
	}
	if len(list) == 0 {
		return nil, &FileError{Reason: "it changes nothing: it holds no pair of " + suffixA[1:] + " and " + suffixB[1:] + " tensors", Fix: adapterFix}
	}
	return list, nil
}

// fits repeats what llama_adapter_lora_init checks, and what the products in build_lora_mm, build_lora_mm_id and
// build_inp_embd of src/llama-graph.cpp assert.
func (p pair) fits(model map[string]tensor) *FileError {
	const fix = "use it with the model that it was made for"
	w, ok := model[p.name]
	_, separate := model[head]
	layout, _ := lookupType(w.kind)
	switch {
	case !ok:
		return &FileError{Reason: fmt.Sprintf("it changes the tensor %q, which the model does not have", clean(p.name)), Fix: fix}
	case w.dims < 2:
		return &FileError{Reason: fmt.Sprintf("it changes the tensor %q, which is no matrix", clean(p.name)), Fix: adapterFix}
	case layout.name == "NVFP4":
		return &FileError{Reason: fmt.Sprintf("it changes the tensor %q, whose type NVFP4 llama.cpp cannot combine with adapters", clean(p.name)), Fix: "use another quantization of the model"}
	case p.name == embedding && !separate:
		return &FileError{
			Reason: fmt.Sprintf("it changes %q, which this model also uses for its output; llama.cpp cannot do that", embedding),
			Fix:    "merge the adapter into the model",
		}
	}
	for _, t := range []tensor{p.a, p.b} {
		if !t.usable() {
			return &FileError{Reason: fmt.Sprintf("its tensor %q has a type with which llama.cpp cannot compute", clean(t.name)), Fix: adapterFix}
		}
	}
	a, b := p.a.shape, p.b.shape
	right := a[0] == w.shape[0] && b[1] == w.shape[1] && a[1] == b[0]
	if strings.HasSuffix(p.name, embedding) { // its rows are looked up, so a is not transposed
		right = b[1] == w.shape[0] && a[1] == w.shape[1] && a[0] == b[0]
	}
	for _, s := range [][maxDims]uint64{a, b} {
		right = right && s[2] == w.shape[2] && s[3] == w.shape[3]
	}
	if !right || b[0] == 0 {
		return &FileError{
			Reason: fmt.Sprintf("its change of %q has the shapes %v and %v, which do not fit the model's %v", clean(p.name), a, b, w.shape),
			Fix:    fix,
		}
	}
	return nil
}

// tensorsOf reads the tensor descriptions of all files of a model.
func tensorsOf(base *Info) (map[string]tensor, error) {
	all := map[string]tensor{}
	for _, path := range base.Files() {
		h, _, err := headerOf(path)
		if err != nil {
			return nil, err
		}
		for _, t := range h.tensors {
			all[t.name] = t
		}
	}
	return all, nil
}
