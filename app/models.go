package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/engine/gguf"
)

// defaultContext is the most tokens of context that the engine uses unless n_ctx says otherwise.
const defaultContext = 16384

// programBytes is what the program takes besides the model: its own memory and the vocabulary tables.
const programBytes = 100_000_000

// ModelFile describes one GGUF file. Problem says why it cannot be used; the fields that could not be read are zero.
type ModelFile struct {
	Path          string `json:"path"`
	Name          string `json:"name"`
	Architecture  string `json:"architecture"`
	Size          string `json:"size"` // number of weights: "1.5B"
	Quantization  string `json:"quantization"`
	FileBytes     int64  `json:"file_bytes"`
	ContextLength int    `json:"context_length"` // tokens the model was trained for
	ChatTemplate  bool   `json:"chat_template"`
	ToolTemplate  bool   `json:"tool_template"` // the template has a tool format of its own; any model can call tools in a constrained form
	ContextTokens int    `json:"context_tokens"`
	MemoryBytes   int64  `json:"memory_bytes"` // needed at ContextTokens
	Fits          *bool  `json:"fits"`         // into the memory that is available now; nil when that is not known
	Configured    bool   `json:"configured"`
	Problem       string `json:"problem,omitempty"`
	Fix           string `json:"fix,omitempty"`
}

// Models describes the GGUF files at the given paths, files or folders. Without paths it looks where models usually are:
// the configured file and its folder, and the folders named models beside the configuration file and in the workspace. Later
// parts of a split model are left out. The error is about a given path that does not exist, or ctx's.
func Models(ctx context.Context, c *config.Config, m Machine, paths []string) ([]ModelFile, error) {
	explicit := len(paths) > 0
	if !explicit {
		paths = usualModelPaths(c)
	}
	var files []string
	for _, p := range paths {
		found, err := modelFiles(p)
		switch {
		case err == nil:
			files = append(files, found...)
		case explicit:
			return nil, err
		case p == c.Engine.ModelPath:
			files = append(files, p) // to be told why it cannot be read
		}
	}
	if explicit {
		files = unique(files)
	} else {
		slices.Sort(files)
		files = slices.Compact(files)
	}
	list := make([]ModelFile, 0, len(files))
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if model, ok := describeModel(c, m, file); ok {
			list = append(list, model)
		}
	}
	return list, nil
}

func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		defer func() { seen[s] = true }()
		return seen[s]
	})
}

func usualModelPaths(c *config.Config) []string {
	var paths []string
	if c.Engine.ModelPath != "" {
		paths = append(paths, c.Engine.ModelPath, filepath.Dir(c.Engine.ModelPath))
	}
	if c.File != "" {
		paths = append(paths, filepath.Join(filepath.Dir(c.File), "models"))
	}
	return append(paths, c.Path("models"))
}

// modelFiles returns path itself when it is a file, else the .gguf files in it and the folders directly below it.
func modelFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file or folder %q", path)
	case err != nil:
		return nil, fmt.Errorf("looking for models: %w", err)
	case !info.IsDir():
		return []string{path}, nil
	}
	var files []string
	for _, pattern := range []string{"*", filepath.Join("*", "*")} {
		// The names come from the folder, so only the folder's own name could be a malformed pattern.
		matches, err := fs.Glob(os.DirFS(path), pattern)
		if err != nil {
			return nil, fmt.Errorf("looking for models in %q: %w", path, err)
		}
		for _, name := range matches {
			file := filepath.Join(path, name)
			if info, err := os.Stat(file); err == nil && !info.IsDir() && strings.EqualFold(filepath.Ext(name), ".gguf") {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

// describeModel returns false for a file that only continues another.
func describeModel(c *config.Config, m Machine, path string) (ModelFile, bool) {
	abs, err := filepath.Abs(path)
	f := ModelFile{Path: path, Configured: err == nil && abs == c.Engine.ModelPath}
	info, err := gguf.Inspect(path)
	if err != nil {
		if stat, statErr := os.Stat(path); statErr == nil {
			f.FileBytes = stat.Size()
		}
		f.setProblem(err)
		return f, true
	}
	if info.SplitCount > 1 && info.SplitIndex > 0 && !f.Configured {
		return f, false
	}
	f.Name, f.Architecture, f.Size, f.Quantization = info.Name, info.Architecture, info.SizeLabel, info.Quantization
	f.FileBytes, f.ContextLength = info.FileBytes, info.ContextLength
	f.ChatTemplate, f.ToolTemplate = info.ChatTemplate != "" || c.Engine.ChatTemplate != "", info.SupportsTools()
	if err := info.Check(); err != nil {
		f.setProblem(err)
		return f, true
	}
	f.ContextTokens = contextTokens(c, info)
	f.MemoryBytes = neededBytes(c, info, f.ContextTokens)
	if m.AvailableBytes > 0 {
		fits := f.MemoryBytes <= m.AvailableBytes
		f.Fits = &fits
	}
	return f, true
}

func (f *ModelFile) setProblem(err error) {
	if fe, ok := errors.AsType[*gguf.FileError](err); ok {
		f.Problem, f.Fix = fe.Reason, fe.Fix
		return
	}
	f.Problem = err.Error()
}

// contextTokens is the size of the context that the engine gives the model.
func contextTokens(c *config.Config, info *gguf.Info) int {
	if c.Engine.NCtx > 0 {
		return c.Engine.NCtx
	}
	return min(cmp.Or(info.ContextLength, defaultContext), defaultContext)
}

// neededBytes is the memory that the program needs with the model and a context of so many tokens.
func neededBytes(c *config.Config, info *gguf.Info, tokens int) int64 {
	element, err := gguf.KVElementBytes(c.Engine.KVCacheType)
	if err != nil {
		element = 2 // f16; the configuration allows no type that is not known
	}
	return info.MemoryEstimate(tokens, element).TotalBytes + programBytes
}
