package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Settings holds the values that change what a task does or answers, as TOML literals by full key. It is stored with
// a task, so that resuming it under other values can be noticed.
type Settings map[string]string

// Settings returns those of c. Where a store lies, how many threads compute and what is shown does not belong to them.
func (c *Config) Settings() Settings {
	s := Settings{}
	for _, k := range keys {
		if k.outcome {
			s[k.id()] = k.toml(c)
		}
	}
	return s
}

// Fingerprint returns a hash of c's Settings: equal configurations have equal ones.
func (c *Config) Fingerprint() string { return c.Settings().Fingerprint() }

// Fingerprint returns a hash that does not depend on the order of the map.
func (s Settings) Fingerprint() string {
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(h, "%q=%q\n", id, s[id])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Change is one setting that differs. Old or New is empty where it is not set, or where the key does not exist.
type Change struct{ Key, Old, New string }

// Diff lists what differs in now, in the order of the documented file; keys that no longer exist come last.
func (s Settings) Diff(now Settings) []Change {
	var changes []Change
	add := func(id string) {
		if s[id] != now[id] {
			changes = append(changes, Change{Key: id, Old: s[id], New: now[id]})
		}
	}
	for _, k := range keys {
		add(k.id())
	}
	for _, id := range slices.Sorted(maps.Keys(s)) {
		if _, ok := now[id]; !ok && !slices.ContainsFunc(keys, func(k *key) bool { return k.id() == id }) {
			add(id)
		}
	}
	return changes
}
