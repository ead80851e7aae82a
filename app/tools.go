package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/lifecycle"
	"github.com/llama-agent/llama-agent/tools"
)

// Tools makes the registry of a configuration: the built-in tools and the skills that can work and are enabled, or of these
// the ones named in only. Tools whose store is missing can only be described.
func Tools(c *config.Config, stores Stores, only []string) (*tools.Registry, error) {
	return toolsWith(c, stores, loadSkills(c), only)
}

func toolsWith(c *config.Config, stores Stores, skills tools.SkillSet, only []string) (*tools.Registry, error) {
	usable, off := []tools.Tool{}, []string{}
	for _, t := range builtIn(c, stores) {
		if t.off == "" {
			usable = append(usable, t.Tool)
		} else {
			off = append(off, t.Spec().Name)
		}
	}
	registry, err := newRegistry(c, append(usable, skills.Tools...), skills.MaxTimeout())
	if err != nil {
		return nil, err
	}
	if len(c.Tools.EnabledTools) > 0 {
		// A tool that is off by another setting may be named all the same, so that the setting can be switched.
		names := slices.DeleteFunc(slices.Clone(c.Tools.EnabledTools), func(name string) bool { return slices.Contains(off, name) })
		if registry, err = registry.Only(names...); err != nil {
			return nil, fmt.Errorf("tools.enabled_tools: %w", err)
		}
	}
	if len(only) > 0 {
		return registry.Only(only...)
	}
	return registry, nil
}

// Stores are what tools look into; nil fields stand for stores that there are not.
type Stores struct {
	Artifacts *artifacts.Store
	Memory    *lifecycle.Store
}

// newRegistry makes the registry of the tools. ofSkills is the longest time limit among the skills.
func newRegistry(c *config.Config, list []tools.Tool, ofSkills time.Duration) (*tools.Registry, error) {
	registry, err := tools.NewRegistry(list...)
	if err != nil {
		return nil, err
	}
	// Families have time limits of their own; the general one must not cut them short.
	longest := max(c.Tools.Timeout, c.Tools.File.Timeout, c.Tools.Log.Timeout, c.Tools.SQLite.Timeout, c.Tools.Shell.Timeout, ofSkills)
	return registry.WithLimits(tools.Limits{Timeout: longest + time.Second, MaxOutputChars: c.Tools.MaxOutputChars}), nil
}

// builtInTool is a tool of the program. off says why it cannot work under the configuration; empty when it can.
type builtInTool struct {
	tools.Tool
	off string
}

func builtIn(c *config.Config, stores Stores) []builtInTool {
	var list []builtInTool
	add := func(off string, family []tools.Tool) {
		for _, t := range family {
			list = append(list, builtInTool{t, off})
		}
	}
	add("", fileTools(c))
	add("", logTools(c))
	add("", databaseTools(c))
	add(artifactsOff(c), artifactTools(c, stores.Artifacts))
	add(memoryOff(c), memoryTools(stores.Memory))
	add(shellOff(c), tools.Shell(shellOptions(c)))
	return list
}

func shellOptions(c *config.Config) tools.ShellOptions {
	return tools.ShellOptions{
		Workspace: c.Workspace, AllowedRoots: c.Tools.File.AllowedRoots, AllowedCommands: c.Tools.Shell.AllowedCommands,
		Timeout: c.Tools.Shell.Timeout, MaxOutputBytes: c.Tools.MaxOutputChars,
	}
}

// shellOff says why the shell tool cannot work: it runs programs in the workspace, so that must be readable.
func shellOff(c *config.Config) string {
	if len(c.Tools.Shell.AllowedCommands) == 0 {
		return "tools.shell.allowed_commands is empty"
	}
	for _, root := range c.Tools.File.AllowedRoots {
		if rel, err := filepath.Rel(root, c.Workspace); err == nil && filepath.IsLocal(rel) {
			return ""
		}
	}
	return "tools.file.allowed_roots does not contain the workspace"
}

// ToolInfo describes a tool for people and programs.
type ToolInfo struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Arguments   []ToolArgument     `json:"arguments"`
	Parameters  *jsonschema.Schema `json:"parameters"`
	ReadOnly    bool               `json:"read_only"`
	Limits      []string           `json:"limits"`
	Origin      string             `json:"origin"`
	Off         string             `json:"off,omitempty"` // why the model is not offered it; empty when it is
}

// ToolArgument is one argument of a tool.
type ToolArgument struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default,omitempty"`
}

// DescribeTools lists all tools and the skills that work, those that are off included.
func DescribeTools(c *config.Config) ([]ToolInfo, error) {
	return describeTools(c, loadSkills(c))
}

func describeTools(c *config.Config, skills tools.SkillSet) ([]ToolInfo, error) {
	enabled, err := toolsWith(c, Stores{}, skills, nil)
	if err != nil {
		return nil, err
	}
	all := builtIn(c, Stores{})
	for _, skill := range skills.Tools {
		all = append(all, builtInTool{Tool: skill})
	}
	list := []ToolInfo{}
	for _, t := range all {
		spec := t.Spec()
		info := ToolInfo{
			Name: spec.Name, Description: spec.Description, Parameters: spec.Parameters, Arguments: []ToolArgument{},
			ReadOnly: spec.ReadOnly, Limits: append([]string{}, spec.Limits...), Origin: cmp.Or(spec.Origin, "built in"), Off: t.off,
		}
		for _, name := range spec.Parameters.PropertyOrder {
			p := spec.Parameters.Properties[name]
			info.Arguments = append(info.Arguments, ToolArgument{
				Name: name, Description: p.Description, Required: slices.Contains(spec.Parameters.Required, name), Default: p.Default,
			})
		}
		if _, on := enabled.Lookup(spec.Name); !on && info.Off == "" {
			info.Off = "not in tools.enabled_tools"
		}
		list = append(list, info)
	}
	return list, nil
}

func fileTools(c *config.Config) []tools.Tool {
	return timed(c.Tools.File.Timeout, tools.Files(tools.FileOptions{
		Workspace: c.Workspace, AllowedRoots: c.Tools.File.AllowedRoots,
		MaxReadChars: c.Tools.File.MaxReadChars, MaxMatches: c.Tools.File.MaxMatches,
	}))
}

func logTools(c *config.Config) []tools.Tool {
	return timed(c.Tools.Log.Timeout, tools.Logs(tools.LogOptions{
		Workspace: c.Workspace, AllowedRoots: c.Tools.Log.AllowedRoots, MaxReadChars: c.Tools.Log.MaxReadChars,
		MaxMatches: c.Tools.Log.MaxMatches, MaxWindowLines: c.Tools.Log.MaxWindowLines,
	}))
}

func databaseTools(c *config.Config) []tools.Tool {
	return tools.SQLite(tools.SQLiteOptions{
		Workspace: c.Workspace, AllowedRoots: c.Tools.SQLite.AllowedRoots, MaxRows: c.Tools.SQLite.MaxRows,
		MaxChars: c.Tools.MaxOutputChars, Timeout: c.Tools.SQLite.Timeout,
	})
}

// timed gives tools a time limit of their family.
func timed(limit time.Duration, list []tools.Tool) []tools.Tool {
	for i, t := range list {
		list[i] = timedTool{t, limit}
	}
	return list
}

type timedTool struct {
	tools.Tool
	limit time.Duration
}

func (t timedTool) Call(ctx context.Context, args json.RawMessage) (tools.Result, error) {
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	result, err := t.Tool.Call(limited, args)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = &tools.Error{
			Kind:    tools.KindTimeout,
			Message: fmt.Sprintf("%s did not finish within %s and was stopped", t.Spec().Name, t.limit),
			Fix:     "ask for less at once",
		}
	}
	return result, err
}
