package benchmark

import "time"

// SchemaVersion is the version of the files in a folder of results. A folder of another version is not read.
const SchemaVersion = 1

// Manifest says what a folder of results was measured with, so that runs can be told apart and compared honestly.
type Manifest struct {
	SchemaVersion int       `json:"schema_version"`
	Run           string    `json:"run"`     // the ID of the run
	Command       string    `json:"command"` // benchmark or ablation
	StartedAt     time.Time `json:"started_at"`
	Complete      bool      `json:"complete"` // every sample of the plan is there

	Suite        SuiteInfo         `json:"suite"`
	Cases        []string          `json:"cases"`
	Rounds       []RoundInfo       `json:"rounds"` // in the order in which they take turns
	WarmupRuns   int               `json:"warmup_runs"`
	MeasuredRuns int               `json:"measured_runs"`
	TimeLimitMS  int64             `json:"time_limit_ms"` // of one process
	Model        ModelInfo         `json:"model"`
	Config       map[string]string `json:"config"` // every value of the configuration that all rounds share, by section.key; no secrets, no paths of the user
	Program      ProgramInfo       `json:"program"`
	Host         HostInfo          `json:"host"`
}

// SuiteInfo identifies a suite.
type SuiteInfo struct {
	Name   string `json:"name"`
	File   string `json:"file"` // its base name
	SHA256 string `json:"sha256"`
	Seed   int    `json:"seed"`
}

// RoundInfo is a round and the values that make it.
type RoundInfo struct {
	Name     string            `json:"name"`
	Switches map[string]string `json:"switches"` // by section.key
}

// ModelInfo identifies a model file.
type ModelInfo struct {
	Name   string `json:"name"` // the base name of its path
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// ProgramInfo identifies the program.
type ProgramInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	LlamaCPP string `json:"llama_cpp"`
	Go       string `json:"go"`
	Backend  string `json:"backend"`
}

// HostInfo says what kind of machine it ran on. It names neither the machine nor its user.
type HostInfo struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu"`
	CPUs        int    `json:"cpus"` // that the process may use
	MemoryBytes int64  `json:"memory_bytes"`
}
