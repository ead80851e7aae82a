package config

import "strings"

// key is one setting: its place in the file, what it may be, its default, and its field in Config. The table of all
// keys drives defaults, parsing, environment names, show-config and the documented file.
type key struct {
	section, name string
	doc           string
	allowed       string // the values that are allowed, for the documented file
	input         bool   // names files that must exist already: looked for beside their author first
	paths         bool   // names files or folders
	outcome       bool   // changes what a task does or answers, so that it belongs to the fingerprint
	text          string // default as a TOML literal, empty when the default is "not set"

	reset    func(*Config)
	setTOML  func(*Config, any) error
	setText  func(*Config, string) error
	value    func(*Config) any
	toml     func(*Config) string
	eachPath func(*Config, func(string) string)
}

// id is the full name, for example "tools.shell.timeout_seconds".
func (k *key) id() string { return k.section + "." + k.name }

// env is the name of the environment variable. Sections of their own have their name in it, [agent] and [engine] do not.
func (k *key) env() string {
	section := strings.TrimPrefix(strings.TrimPrefix(k.section, "agent"), "engine")
	name := strings.TrimPrefix(strings.ReplaceAll(section, ".", "_")+"_"+k.name, "_")
	return "AGENT_" + strings.ToUpper(name)
}

// option is a trait of a key.
type option func(*key)

var (
	outcome option = func(k *key) { k.outcome = true }
	path    option = func(k *key) { k.paths = true }
	input   option = func(k *key) { k.paths, k.input = true, true }
)

// define builds a key from its typed parts. T is the type of the field that at points to.
func define[T any](section, name string, kind kind[T], def T, at func(*Config) *T, doc string, opts ...option) *key {
	set := func(c *Config, v T, err error) error {
		if err == nil {
			*at(c) = v
		}
		return err
	}
	k := &key{
		section: section, name: name, doc: doc, allowed: kind.describe(), text: kind.toml(def),
		reset: func(c *Config) { *at(c) = def },
		setTOML: func(c *Config, raw any) error {
			v, err := kind.fromTOML(raw)
			return set(c, v, err)
		},
		setText: func(c *Config, s string) error {
			v, err := kind.fromText(s)
			return set(c, v, err)
		},
		value: func(c *Config) any { return kind.plain(*at(c)) },
		toml:  func(c *Config) string { return kind.toml(*at(c)) },
	}
	for _, o := range opts {
		o(k)
	}
	if k.paths {
		k.eachPath = func(c *Config, f func(string) string) {
			switch p := any(at(c)).(type) {
			case *string:
				*p = f(*p)
			case *[]string:
				resolved := make([]string, len(*p))
				for i, s := range *p {
					resolved[i] = f(s)
				}
				*p = resolved
			case *[]Adapter:
				resolved := make([]Adapter, len(*p))
				for i, a := range *p {
					resolved[i] = Adapter{Path: f(a.Path), Scale: a.Scale}
				}
				*p = resolved
			}
		}
	}
	return k
}
