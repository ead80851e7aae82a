package app

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/config"
)

// SlashCommand describes a command that a user can give in a conversation.
type SlashCommand struct {
	Name      string // without the slash
	Arguments string // as shown after the name: "[ID]"; empty when it takes none
	About     string

	least, most int // number of arguments; the last one is the rest of the line
}

// slashCommands are in the order of the help.
var slashCommands = []SlashCommand{
	{Name: "help", About: "list the commands"},
	{Name: "quit", About: "leave"},
	{Name: "new", About: "begin a conversation with the next question"},
	{Name: "resume", Arguments: "[ID]", About: "go on with a stopped task, or switch to another conversation", most: 1},
	{Name: "history", About: "show the last turns of the conversation"},
	{Name: "conversations", About: "list the conversations"},
	{Name: "threads", About: "list the tasks"},
	{Name: "tools", About: "list what the model can use"},
	{Name: "skills", About: "list your own tools and instructions"},
	{Name: "tool", Arguments: "NAME REQUEST", About: "ask with one tool only", least: 2, most: 2},
	{Name: "skill", Arguments: "NAME REQUEST", About: "ask with one skill", least: 2, most: 2},
	{Name: "thinking", Arguments: "[on|off]", About: "whether to show what the model thinks", most: 1},
	{Name: "stats", About: "show the model, tokens and memory"},
	{Name: "config", About: "show every setting and where it comes from"},
	{Name: "clear", About: "clear the screen; the conversation stays"},
	{Name: "remember", Arguments: "KEY VALUE", About: "keep a value in every prompt of the conversation; quote a KEY of several words", least: 2, most: 2},
	{Name: "memory", About: "list what is remembered"},
	{Name: "artifacts", Arguments: "[ID]", About: "list the stored results of the conversation, or show one", most: 1},
	{Name: "model", Arguments: "[PATH]", About: "show the model, or use another from the next question on", most: 1},
	{Name: "cancel", About: "stop the turn that is under way"},
}

// SlashCommands lists the commands in the order of the help.
func SlashCommands() []SlashCommand { return append([]SlashCommand{}, slashCommands...) }

// Usage is the command as it is typed.
func (c SlashCommand) Usage() string { return strings.TrimSpace("/" + c.Name + " " + c.Arguments) }

// Entry is what a user entered in a conversation, as [ParseEntry] understands it.
type Entry struct {
	// Command is the name of one of the [SlashCommands], or empty when Text is for the model.
	Command string
	// Subject is the first argument: an ID, a path, on or off, a key, or the name of a tool or skill. Empty when there is none.
	Subject string
	// Text is what the model is asked, or the value to remember.
	Text string
}

// EntryError says why an entry is not understood. It is not sent to the model then.
type EntryError struct{ message string }

func (e *EntryError) Error() string { return e.message }

func entryErrorf(format string, args ...any) error {
	return &EntryError{fmt.Sprintf(format, args...)}
}

// ParseEntry tells commands from text for the model. Space around an entry does not matter. What begins with a slash is a
// command, one of the [SlashCommands] or the name of a tool or skill, which becomes the command "tool"; two slashes begin a text with
// one slash. capabilities are the names of tools and skills. The error is an [*EntryError].
func ParseEntry(entry string, capabilities []string) (Entry, error) {
	entry = strings.TrimSpace(entry)
	if text, ok := strings.CutPrefix(entry, "//"); ok {
		return Entry{Text: "/" + text}, nil
	}
	rest, ok := strings.CutPrefix(entry, "/")
	if !ok {
		return Entry{Text: entry}, nil
	}
	name, rest := cutWord(rest)
	if command, ok := findCommand(name); ok {
		return command.parse(rest)
	}
	for _, capability := range capabilities {
		if toolName(name) != capability {
			continue
		}
		if rest == "" {
			return Entry{}, entryErrorf("/%s: the request is missing; use /%s REQUEST", name, name)
		}
		return Entry{Command: "tool", Subject: capability, Text: rest}, nil
	}
	return Entry{}, unknownEntry(name, capabilities)
}

func findCommand(name string) (SlashCommand, bool) {
	for _, c := range slashCommands {
		if c.Name == name {
			return c, true
		}
	}
	return SlashCommand{}, false
}

func unknownEntry(name string, capabilities []string) error {
	known := make([]string, 0, len(slashCommands)+len(capabilities))
	for _, c := range slashCommands {
		known = append(known, c.Name)
	}
	known = append(known, capabilities...)
	fix := "see /help."
	if near := config.Nearest(name, known); near != "" {
		fix = "did you mean /" + near + "?"
	}
	return entryErrorf("there is no command %q; %s A text that begins with a slash is sent with two: //%s", "/"+clipWord(name), fix, clipWord(name))
}

// parse reads the arguments of a command.
func (c SlashCommand) parse(rest string) (Entry, error) {
	entry := Entry{Command: c.Name}
	missing := func(what string) error {
		return entryErrorf("/%s: %s is missing; use %s", c.Name, what, c.Usage())
	}
	switch {
	case c.most == 0 && rest != "":
		return Entry{}, entryErrorf("/%s takes no argument, but there is %q; a text that begins with a slash is sent with two: //%s", c.Name, clipWord(rest), c.Name)
	case c.most == 1:
		entry.Subject = unquote(rest)
	case c.most == 2:
		var err error
		if entry.Subject, entry.Text, err = cutArgument(rest); err != nil {
			return Entry{}, entryErrorf("/%s: %v; use %s", c.Name, err, c.Usage())
		}
	}
	first, second, _ := strings.Cut(c.Arguments, " ")
	switch {
	case c.least > 0 && entry.Subject == "":
		return Entry{}, missing("the " + strings.ToLower(first))
	case c.least > 1 && entry.Text == "":
		return Entry{}, missing("the " + strings.ToLower(second))
	}
	return entry, nil
}

// cutWord returns the first word of s and what follows it, without the space between them.
func cutWord(s string) (word, rest string) {
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// cutArgument returns the first word of s, or what stands between double quotes, and what follows it.
func cutArgument(s string) (argument, rest string, err error) {
	quoted, ok := strings.CutPrefix(s, `"`)
	if !ok {
		argument, rest = cutWord(s)
		return argument, rest, nil
	}
	argument, rest, ok = strings.Cut(quoted, `"`)
	if !ok {
		return "", "", fmt.Errorf("the quote of %q does not end", clipWord(s))
	}
	return strings.TrimSpace(argument), strings.TrimSpace(rest), nil
}

// unquote takes away the double quotes that a whole argument stands in.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// toolName is the name of the tool that a user may mean: skills are named with dashes, their tools with underscores.
func toolName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// clipWord shortens s for a message.
func clipWord(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
