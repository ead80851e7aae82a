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
	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/engine/gguf"
)

// CheckState is how a check ended.
type CheckState string

// The states of a check. A problem keeps the program from working; a warning does not.
const (
	CheckOK      CheckState = "ok"
	CheckWarning CheckState = "warning"
	CheckProblem CheckState = "problem"
)

// Check is the result of one check.
type Check struct {
	Name   string     `json:"name"`
	State  CheckState `json:"state"`
	Detail string     `json:"detail"`        // what was found
	Fix    string     `json:"fix,omitempty"` // what to do, unless the state is ok
}

func ok(name, format string, args ...any) Check {
	return Check{Name: name, State: CheckOK, Detail: fmt.Sprintf(format, args...)}
}

func warning(name, fix, format string, args ...any) Check {
	return Check{Name: name, State: CheckWarning, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

func problem(name, fix, format string, args ...any) Check {
	return Check{Name: name, State: CheckProblem, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

// Doctor checks all that a task needs, without loading the model. It creates and changes no file.
func Doctor(ctx context.Context, c *config.Config, m Machine) []Check {
	checks := []Check{checkConfig(c)}
	checks = append(checks, checkModel(c, m)...)
	checks = append(checks, checkThreads(c, m), checkBackend(c, m))
	checks = append(checks, checkTools(c), checkSkills(c))
	checks = append(checks, checkStores(ctx, c, m)...)
	return append(checks, checkWorkspace(c))
}

func checkConfig(c *config.Config) Check {
	if c.File == "" {
		return ok("configuration", "no file, so all values are defaults, environment variables or flags")
	}
	if len(c.Notices) > 0 {
		return warning("configuration", "see the notes above", "%s is valid, with notes", c.File)
	}
	return ok("configuration", "%s is valid", c.File)
}

// checkModel checks the file, its template and whether it fits into memory; the latter two only when the file is good.
func checkModel(c *config.Config, m Machine) []Check {
	if c.Engine.ModelPath == "" {
		return []Check{problem("model", "set engine.model_path, or fetch the starter model with: make model", "no model is configured")}
	}
	info, err := gguf.Inspect(c.Engine.ModelPath)
	if err == nil {
		err = info.Check()
	}
	if err != nil {
		if fe, is := errors.AsType[*gguf.FileError](err); is {
			return []Check{problem("model", fe.Fix, "%s: %s", fe.Path, fe.Reason)}
		}
		return []Check{problem("model", "", "%v", err)}
	}
	checks := []Check{ok("model", "%s, %s %s %s", filepath.Base(info.Path), info.Architecture, info.SizeLabel, info.Quantization)}
	checks = append(checks, checkAdapters(c, info)...)
	return append(checks, checkTemplate(c, info), checkContext(c, info), ok("prefixes", "%s", engine.PrefixReuse(info)), checkMemory(c, m, info))
}

// checkAdapters looks at each LoRA adapter beside the model that it is to change.
func checkAdapters(c *config.Config, info *gguf.Info) []Check {
	const name = "LoRA adapter"
	var checks []Check
	for _, a := range c.Engine.LoRA {
		found, err := gguf.InspectAdapter(a.Path, info)
		fe, _ := errors.AsType[*gguf.FileError](err)
		switch {
		case fe != nil:
			checks = append(checks, problem(name, fe.Fix, "%s: %s", fe.Path, fe.Reason))
		case err != nil:
			checks = append(checks, problem(name, "", "%v", err))
		case a.Scale == 0:
			checks = append(checks, warning(name, "set another scale, or take it out of engine.lora", "%s has the scale 0 and changes nothing", a.Path))
		default:
			checks = append(checks, ok(name, "%s, scale %v, rank %d, changed matrices: %d", filepath.Base(a.Path), a.Scale, found.Rank, found.Matrices))
		}
	}
	return checks
}

func checkTemplate(c *config.Config, info *gguf.Info) Check {
	const name = "chat template"
	switch {
	case c.Engine.ChatTemplate != "":
		if _, err := readBounded(c.Engine.ChatTemplate, maxTemplateBytes); err != nil {
			return problem(name, "correct or remove engine.chat_template", "%v", err)
		}
		return ok(name, "%s", c.Engine.ChatTemplate)
	case info.ChatTemplate == "":
		return warning(name, "use an instruct or chat model, or give its template with engine.chat_template", "the model brings none, so ChatML is used")
	case !info.SupportsTools():
		return ok(name, "from the model; it has no tool format, so tool calls are constrained objects")
	}
	return ok(name, "from the model, with a tool format")
}

func checkContext(c *config.Config, info *gguf.Info) Check {
	const name = "context"
	tokens := contextTokens(c, info)
	switch {
	case info.ContextLength > 0 && tokens > info.ContextLength:
		return warning(name, fmt.Sprintf("set n_ctx to at most %d", info.ContextLength),
			"%d tokens, but the model was trained for %d", tokens, info.ContextLength)
	case tokens < 2048:
		return warning(name, "set n_ctx to 4096 or more", "%d tokens leave little room for tool results", tokens)
	}
	return ok(name, "%d tokens (the model was trained for %d)", tokens, info.ContextLength)
}

// checkMemory says whether the model fits, and if not, what would.
func checkMemory(c *config.Config, m Machine, info *gguf.Info) Check {
	const name = "memory"
	tokens := contextTokens(c, info)
	needed := neededBytes(c, info, tokens)
	if m.AvailableBytes <= 0 {
		return warning(name, "", "about %s are needed; the system does not tell how much is free", gigabytes(needed))
	}
	if needed <= m.AvailableBytes {
		return ok(name, "about %s needed, %s available", gigabytes(needed), gigabytes(m.AvailableBytes))
	}
	detail := fmt.Sprintf("about %s needed with %d tokens of context, %s available", gigabytes(needed), tokens, gigabytes(m.AvailableBytes))
	if c.Engine.NGPULayers != 0 && len(m.Engine.Devices) > 1 {
		return warning(name, "make sure that the layers on the GPU fit there", "%s (part of it on the GPU)", detail)
	}
	return Check{Name: name, State: CheckProblem, Detail: detail, Fix: whatFits(c, m, info)}
}

// whatFits names the largest context with which the model fits, else the largest usable model nearby that does, else the
// size of file to look for.
func whatFits(c *config.Config, m Machine, info *gguf.Info) string {
	for tokens := contextTokens(c, info) / 2; tokens >= 2048; tokens /= 2 {
		if neededBytes(c, info, tokens) <= m.AvailableBytes {
			return fmt.Sprintf("set n_ctx to %d, or free memory", tokens)
		}
	}
	models, err := Models(context.Background(), c, m, nil)
	if err == nil {
		fitting := slices.DeleteFunc(models, func(f ModelFile) bool { return f.Fits == nil || !*f.Fits })
		if len(fitting) > 0 {
			best := slices.MaxFunc(fitting, func(a, b ModelFile) int { return cmp.Compare(a.FileBytes, b.FileBytes) })
			return "use a smaller model, for example " + best.Path
		}
	}
	// Context and buffers take about a third of what a small model takes.
	return fmt.Sprintf("use a model file of at most %s, or free memory", gigabytes(max(m.AvailableBytes-programBytes, 0)*3/4))
}

func checkThreads(c *config.Config, m Machine) Check {
	const name = "threads"
	if n := c.Engine.NThreads; n > m.PhysicalCores {
		return warning(name, "set n_threads to 0", "%d, but the machine has %d physical cores to offer; more threads are slower", n, m.PhysicalCores)
	}
	return ok(name, "%d of %d physical cores", cmp.Or(c.Engine.NThreads, m.PhysicalCores), m.PhysicalCores)
}

func checkBackend(c *config.Config, m Machine) Check {
	const name = "engine"
	b := m.Engine
	if b.Backend == "" {
		return problem(name, "build it with: make build", "this program was built without llama.cpp")
	}
	var gpus []string
	for _, d := range b.Devices {
		if d.Kind == "gpu" || d.Kind == "igpu" {
			gpus = append(gpus, d.Description)
		}
	}
	detail := fmt.Sprintf("llama.cpp %s, back end %s", b.Version, b.Backend)
	if len(gpus) > 0 {
		detail += ", " + strings.Join(gpus, ", ")
	}
	switch {
	case c.Engine.NGPULayers != 0 && len(gpus) == 0:
		return warning(name, "set n_gpu_layers to 0, or build for the GPU with: make build BACKEND=cuda (or metal, vulkan)",
			"%s; n_gpu_layers = %d has no effect without a GPU", detail, c.Engine.NGPULayers)
	case c.Engine.NGPULayers == 0 && len(gpus) > 0:
		return warning(name, "set n_gpu_layers to -1 to use it", "%s; the GPU is not used", detail)
	}
	return Check{Name: name, State: CheckOK, Detail: detail}
}

func checkTools(c *config.Config) Check {
	const name = "tools"
	r, err := Tools(c, Stores{}, nil)
	if err != nil {
		return problem(name, "correct [tools] in the configuration", "%v", err)
	}
	return ok(name, "%d: %s", len(r.Names()), strings.Join(r.Names(), ", "))
}

// checkWorkspace looks at the folder that tools work in.
func checkWorkspace(c *config.Config) Check {
	const name = "workspace"
	const most = 100_000
	files := 0
	err := filepath.WalkDir(c.Workspace, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == c.Workspace:
			return err // a folder below that cannot be read is that folder's matter
		case err == nil && entry.Type().IsRegular():
			if files++; files >= most {
				return fs.SkipAll
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return problem(name, "check its permissions, or name another folder with -C", "%s cannot be read: %v", c.Workspace, err)
	case files == 0:
		return warning(name, "name the folder with your files with -C", "%s holds no files", c.Workspace)
	case files >= most:
		return warning(name, "name a smaller folder with -C", "%s holds %d files or more, so that listing takes long", c.Workspace, most)
	}
	return ok(name, "%s, %d files", c.Workspace, files)
}

// nearestFolder returns the closest existing folder at or above the folder of path.
func nearestFolder(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func gigabytes(n int64) string {
	switch {
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	case n < 100_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
