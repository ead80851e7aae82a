package benchmark

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/config"
)

// Settings are what samples take of the configuration of the user, so that what is measured is what the user runs.
type Settings struct {
	// Values go into the configuration of every sample, by section.key: those of [agent], [engine], [tools] and [memory] that
	// are not the default. A sample has stores, a workspace and a seed of its own, so that where these lie is left out, and with
	// the workspace the folders that tools may read and skills are found in. So is how much is logged.
	Values map[string]any
	// Shared is the same for people and comparisons, with the defaults: TOML by section.key. A file is its name and the hash of
	// its content. No value of it is secret.
	Shared map[string]string
	// Switches are the values that rounds set, as the user has them.
	Switches map[string]any
}

// switchKeys are the values that rounds set.
var switchKeys = []string{"memory.artifact_virtualization", "memory.lifecycle_context"}

// ownKeys are values that every sample has of its own, or that the manifest tells elsewhere.
var ownKeys = []string{
	"agent.db_path", "agent.conversation_db_path", "engine.model_path", "engine.seed", "engine.kv_store_path",
	"agent.log_level", "engine.verbose", // what ends up in the record of a failure is the program's last words
	"tools.file.allowed_roots", "tools.log.allowed_roots", "tools.sqlite.allowed_roots", "tools.artifact.storage_dir", "tools.skills.dirs",
	"memory.context_store_path",
}

// NewSettings takes the settings of a configuration. It reads the files that the configuration names.
func NewSettings(c *config.Config) (Settings, error) {
	s := Settings{Values: map[string]any{}, Shared: map[string]string{}, Switches: map[string]any{}}
	for _, v := range c.Values() {
		id := v.Section + "." + v.Key
		area, _, _ := strings.Cut(v.Section, ".")
		switch {
		case !slices.Contains([]string{"agent", "engine", "tools", "memory"}, area), slices.Contains(ownKeys, id):
			continue
		case slices.Contains(switchKeys, id):
			s.Switches[id] = v.Value
			continue
		}
		text, err := v.Text, error(nil)
		switch id {
		case "engine.chat_template":
			text, err = fingerprints(c.Engine.ChatTemplate)
		case "engine.lora":
			text, err = adapterFingerprints(c.Engine.LoRA)
		}
		if err != nil {
			return s, fmt.Errorf("reading %s: %w", id, err)
		}
		if text != "" { // a role that has no value of its own
			s.Shared[id] = text
		}
		if v.Source.Layer != config.LayerDefault {
			s.Values[id] = v.Value
		}
	}
	return s, nil
}

// adapterFingerprints are the fingerprints of adapters, with their scales where these are not 1.
func adapterFingerprints(adapters []config.Adapter) (string, error) {
	var list []string
	for _, a := range adapters {
		text, err := fingerprints(a.Path)
		if err != nil {
			return "", err
		}
		if a.Scale != 1 {
			text += fmt.Sprintf(" scale %v", a.Scale)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", "), nil
}

// fingerprints are the names of files and the hashes of their contents; no path is none.
func fingerprints(paths ...string) (string, error) {
	var list []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		list = append(list, filepath.Base(path)+" "+hashOf(data))
	}
	return strings.Join(list, ", "), nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
