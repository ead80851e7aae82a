package config

import (
	"fmt"
	"strings"
)

// sectionDocs introduces the sections of the documented file.
var sectionDocs = map[string]string{
	"agent":                "Limits of a task, and where tasks and conversations are stored.",
	"engine":               "The model and how it runs.",
	"engine.nodes.planner": "Settings of single roles, where they differ from [engine].",
	"tools":                "Limits of the tools that the model uses.",
	"memory":               "What stays outside the prompt.",
	"telemetry":            "Records about a run.",
	"tui":                  "The full-screen interface.",
	"tools.artifact":       "Stored large results.",
	"tools.skills":         "Skills: tools of your own.",
}

const referenceHead = `# Configuration of llama-agent. Every key is listed with its default; remove the # to change one.
#
# It is read from the current folder, else from the user's configuration folder (on Linux ~/.config/llama-agent/).
# Environment variables and flags win over it: AGENT_N_CTX=8192, --n-ctx 8192 and --set engine.n_ctx=8192 do the same.
# "llama-agent show-config" prints every value and where it comes from.
#
# Relative paths are relative to the workspace (flag -C, else the current folder). Files that must exist already
# (model_path, chat_template, lora) are first looked for in the folder of this file. "~/" is your home folder.
# Sizes: a number of bytes, or text such as "512MiB" or "4GiB".
`

// Reference returns the documented configuration file: every key with its meaning, its allowed values and, commented
// out, its default. set gives values, as TOML literals by full key, that are written without the comment sign.
func Reference(set map[string]string) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	section := ""
	for _, k := range keys {
		if k.section != section {
			section = k.section
			b.WriteByte('\n')
			if doc := sectionDocs[section]; doc != "" {
				wrap(&b, doc)
			}
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		wrap(&b, k.doc+" ("+k.allowed+")")
		if literal, ok := set[k.id()]; ok {
			fmt.Fprintf(&b, "%s = %s\n", k.name, literal)
			continue
		}
		fmt.Fprintf(&b, "#%s\n", strings.TrimRight(k.name+" = "+k.text, " "))
	}
	return b.String()
}

// wrap writes text as comment lines of at most 110 characters.
func wrap(b *strings.Builder, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 110 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
