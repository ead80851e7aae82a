package engine

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/llama-agent/llama-agent/engine/gguf"
)

// Adapter is a LoRA adapter for the model: low-rank changes of some of its matrices.
type Adapter struct {
	Path  string  // GGUF file
	Scale float32 // 1: as it was trained; 0: not at all
}

// AdapterInfo describes an adapter that is applied.
type AdapterInfo struct {
	Adapter
	Name     string // the file's own; may be empty
	Matrices int    // of the model that it changes
	Rank     int    // of the largest change
}

// AdapterError says why a LoRA adapter cannot be applied to the model.
type AdapterError struct{ Path, Reason, Fix string }

func (e *AdapterError) Error() string { return aboutFile("LoRA adapter", e.Path, e.Reason, e.Fix) }

// adapterFix is what to do about an adapter that llama.cpp refuses.
const adapterFix = "use it with the model that it was made for, or take it out of engine.lora"

// validateAdapters refuses what cannot be meant.
func validateAdapters(list []Adapter) error {
	var errs []error
	seen := map[string]bool{}
	for _, a := range list {
		path := filepath.Clean(a.Path)
		switch scale := float64(a.Scale); {
		case a.Path == "":
			errs = append(errs, errors.New("engine: a LoRA adapter has no path"))
		case math.IsNaN(scale) || math.IsInf(scale, 0):
			errs = append(errs, fmt.Errorf("engine: the scale of the LoRA adapter %s is no finite number", a.Path))
		case seen[path]:
			errs = append(errs, fmt.Errorf("engine: the LoRA adapter %s is named twice; give it the sum of the scales", a.Path))
		}
		seen[path] = true
	}
	return errors.Join(errs...)
}

// applied leaves out adapters with scale 0, with which the model computes what it computes without them.
func applied(list []Adapter) []Adapter {
	var out []Adapter
	for _, a := range list {
		if a.Scale != 0 {
			out = append(out, a)
		}
	}
	return out
}

// checkAdapters looks at the headers of all adapters, those with scale 0 too, before llama.cpp does: it aborts the process
// on some that do not fit. It returns what is applied.
func checkAdapters(c Config, base *gguf.Info) ([]AdapterInfo, error) {
	var out []AdapterInfo
	for _, a := range c.Adapters {
		found, err := gguf.InspectAdapter(a.Path, base)
		if err != nil {
			if fe, ok := errors.AsType[*gguf.FileError](err); ok && fe.Path == a.Path {
				return nil, &AdapterError{Path: a.Path, Reason: fe.Reason, Fix: fe.Fix}
			}
			return nil, modelFileError(base.Path, err)
		}
		if found.Ignored > 0 {
			c.Notices.Warn(fmt.Sprintf("changes of norms in the LoRA adapter %s are left out (%d): llama.cpp does not apply them", a.Path, found.Ignored))
		}
		if a.Scale != 0 {
			out = append(out, AdapterInfo{Adapter: a, Name: found.Name, Matrices: found.Matrices, Rank: found.Rank})
		}
	}
	return out, nil
}

// adaptersKey lists what besides the contents of their files the KV state depends on.
func adaptersKey(list []Adapter) []string {
	if len(list) == 0 {
		return nil
	}
	out := []string{"adapters"}
	for _, a := range list {
		out = append(out, strconv.FormatFloat(float64(a.Scale), 'g', -1, 32))
	}
	return out
}

// adapterPaths are their files.
func adapterPaths(list []Adapter) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = a.Path
	}
	return out
}
