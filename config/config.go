// Package config turns agent_config.toml, environment variables and command-line flags into one typed [Config].
//
// Values are layered: built-in defaults, then the file, then the environment, then flags. Each value remembers where it
// came from, and everything that is wrong in any layer is reported at once, as [Problems].
//
// The package decides what a value may be, not what it does: it opens no store and no model, and it checks no path
// except the workspace. It is the only package that looks at environment variables, and it gets them from its caller.
//
// # Paths
//
// A relative path is relative to the workspace. A file that must exist already (engine.model_path,
// engine.chat_template, engine.lora) is first looked for where its path was written: in the folder of the
// configuration file, or, for flags and environment variables, in the current folder. So one configuration file serves
// every workspace with one copy of the model. A leading "~/" is the home folder. The fields of Config hold the
// absolute paths; [Config.Values] shows them as they were written.
package config

import (
	"path/filepath"
	"strings"
	"time"
)

// FileName is the name of the configuration file in the current folder and in the user's configuration folder.
const FileName = "agent_config.toml"

// Config is a complete, checked configuration. It is not modified after [Load] and may be read concurrently.
// Field names follow the keys of the file; paths are absolute, durations carry their unit in the type.
type Config struct {
	Agent     Agent
	Engine    Engine
	Tools     Tools
	Memory    Memory
	Telemetry Telemetry
	TUI       TUI

	// Workspace is the absolute folder that tools may work in and relative paths start from.
	Workspace string
	// File is the configuration file that was read, empty when there was none.
	File string
	// Notices are remarks for the user about accepted but doubtful input, one line each.
	Notices []string
	// Secrets are the values of environment variables whose names say that they are secret. They are not to be recorded.
	Secrets []string

	home    string
	sources map[*key]Source
	written map[*key]string // TOML text of each value as its author gave it, before paths were resolved
}

// Agent holds the limits of a task and the stores of tasks and conversations.
type Agent struct {
	MaxIterations        int
	MaxPlanSteps         int
	MaxToolRoundsPerStep int
	MaxToolCalls         int
	TaskTimeout          time.Duration // 0: no limit
	DBPath               string
	CheckpointKeep       int    // checkpoints kept a thread; 0: all
	Durability           string // "sync", "async" or "exit"
	LogLevel             string // "debug", "info", "warn" or "error"

	ConversationDBPath             string
	ConversationHistoryTurns       int
	ConversationHistoryTokenBudget int
}

// Engine holds the model and how it is run.
type Engine struct {
	ModelPath       string // empty when none is configured
	NCtx            int    // tokens; 0: the model's own, at most 16384
	NGPULayers      int    // -1: all
	NBatch          int    // tokens
	NThreads        int    // 0: physical cores
	Parallel        int    // sequences
	ToolFormat      string // "auto", "native" or "structured"
	ChatTemplate    string // file; empty: the model's own template
	Temperature     float64
	TopP            float64
	TopK            int // ≤ 0: off
	MinP            float64
	RepeatPenalty   float64
	MaxTokens       int   // of one reply
	Seed            int64 // -1: another one each run
	Stop            []string
	RequestTimeout  time.Duration // 0: no limit
	DisableThinking bool
	FlashAttention  string // "auto", "on" or "off"
	KVCacheType     string
	KVStorePath     string
	KVStoreMaxBytes int64 // 0: off
	LoRA            []Adapter
	Verbose         bool

	Nodes Nodes
}

// Nodes holds the sampling settings that one node of the agent's graph has of its own.
type Nodes struct {
	Planner, Executor, Reflector, Finalizer Node
}

// Node overrides settings of [Engine] for one node; nil means the value of Engine.
type Node struct {
	Temperature *float64
	MaxTokens   *int
}

// Tools holds the limits that all tools share and those of each family.
type Tools struct {
	EnabledTools   []string // empty: all
	Timeout        time.Duration
	MaxOutputChars int

	Shell    Shell
	File     FileTools
	Log      LogTools
	SQLite   SQLiteTools
	Artifact Artifact
	Skills   Skills
}

// Shell holds the limits of execute_shell_command.
type Shell struct {
	AllowedCommands []string
	Timeout         time.Duration
}

// FileTools holds the limits of the file tools.
type FileTools struct {
	AllowedRoots []string
	MaxReadChars int
	MaxMatches   int
	Timeout      time.Duration
}

// LogTools holds the limits of the log tools.
type LogTools struct {
	AllowedRoots   []string
	MaxReadChars   int
	MaxMatches     int
	MaxWindowLines int
	Timeout        time.Duration
}

// SQLiteTools holds the limits of the database tools.
type SQLiteTools struct {
	AllowedRoots []string
	MaxRows      int
	Timeout      time.Duration
}

// Artifact holds the store of large tool results.
type Artifact struct {
	StorageDir       string
	MaxRetrieveBytes int64
	MaxSearchMatches int
	MaxBytes         int64
	MaxAgeDays       int // 0: no limit
}

// Skills holds where skills are looked for.
type Skills struct {
	Dirs    []string
	Timeout time.Duration
}

// Memory holds artifact virtualization (R1) and the lifecycle context (R2).
type Memory struct {
	ArtifactVirtualization bool
	ArtifactInlineMaxBytes int64
	ArtifactPreviewChars   int
	ArtifactSummaryChars   int

	LifecycleContext                bool
	ContextStorePath                string
	ContextBudgetTokens             int
	ContextActivationTokens         int
	ContextTriggerRatio             float64
	ContextReservedGenerationTokens int
	ContextMinCompactionBytes       int64
	ContextMinCompactionRatio       float64
	HotExecutionRecords             int
	HotConversationTurns            int
	HotReflectionNotes              int
	SummaryTriggerTokens            int
	SummaryTargetChars              int
	ContextRetrievalTopK            int
	ContextRetrievalTokenBudget     int
	CheckpointCompaction            bool
}

// Telemetry holds what is recorded about a run.
type Telemetry struct {
	Enabled        bool
	OutputDir      string
	SampleInterval time.Duration
	OTLPEndpoint   string
}

// TUI holds the settings of the full-screen interface.
type TUI struct {
	ShowThinking            bool
	ThinkingMaxChars        int
	ShowSidebar             bool
	RefreshInterval         time.Duration
	ToolResultPreviewChars  int
	RestoreLastConversation bool
	Theme                   string // "auto", "dark" or "light"
	LogFile                 string
}

// Path resolves p against the workspace. An absolute path stays as it is; "~/" is the home folder; empty stays empty.
func (c *Config) Path(p string) string { return c.resolve(p, c.Workspace) }

func (c *Config) resolve(p, base string) string {
	if p == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && c.home != "" {
		return filepath.Join(c.home, rest)
	}
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(base, p)
}

// Value is one setting with its origin, for people.
type Value struct {
	Section string // as in the file, for example "tools.shell"
	Key     string
	Value   any    // bool, int, int64, float64, string, []string, or nil where a node inherits
	Text    string // TOML literal as its author gave it; empty where a node inherits
	Doc     string // one or two sentences
	Source  Source
}

// Values returns every setting in the order of the documented file.
func (c *Config) Values() []Value {
	values := make([]Value, 0, len(keys))
	for _, k := range keys {
		values = append(values, Value{
			Section: k.section, Key: k.name, Value: k.value(c), Text: c.written[k], Doc: k.doc, Source: c.sources[k],
		})
	}
	return values
}
