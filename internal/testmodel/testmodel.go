// Package testmodel finds the model files that tests run on.
package testmodel

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Models that `make model` fetches, small ones first.
const (
	Tiny    = "smollm2-135m-instruct-q4_1.gguf"         // fast, and too weak for real tasks
	Small   = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf" // follows a format
	Starter = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf" // the model that the program starts with
	Env     = "LLAMA_AGENT_TEST_MODELS"                 // folder of the models; without it the repository's models folder
)

// Path returns the path of a model. A model that is not there skips the test, except in CI, where it fails it.
func Path(t testing.TB, name string) string {
	t.Helper()
	folder := os.Getenv(Env) //nolint:forbidigo // tests have no configuration file
	if folder == "" {
		folder = filepath.Join(repository(), "models")
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		missing := t.Skipf
		if os.Getenv("CI") != "" { //nolint:forbidigo // a setting of the machine that tests, not of the program
			missing = t.Fatalf
		}
		missing("model %s is not there; run `make model`, or set %s to the folder that holds it", path, Env)
	}
	return path
}

// repository is the folder of go.mod.
func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
