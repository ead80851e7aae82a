package app

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestEntries(t *testing.T) {
	t.Parallel()
	capabilities := []string{"read_file", "house_style", "help"}
	for entry, want := range map[string]Entry{
		"":                                {},
		"  \n\t ":                         {},
		" hello\nworld ":                  {Text: "hello\nworld"},
		"a /quit":                         {Text: "a /quit"},
		"//etc/hosts: what is it?":        {Text: "/etc/hosts: what is it?"},
		"//":                              {Text: "/"},
		"///":                             {Text: "//"},
		"/quit":                           {Command: "quit"},
		"  /quit ":                        {Command: "quit"},
		"/help":                           {Command: "help"},
		"/resume":                         {Command: "resume"},
		"/resume t-1":                     {Command: "resume", Subject: "t-1"},
		"/model":                          {Command: "model"},
		"/model my models/a b.gguf":       {Command: "model", Subject: "my models/a b.gguf"},
		`/model "my models/a b.gguf"`:     {Command: "model", Subject: "my models/a b.gguf"},
		"/thinking on":                    {Command: "thinking", Subject: "on"},
		"/tool read_file what\nis in it?": {Command: "tool", Subject: "read_file", Text: "what\nis in it?"},
		"/skill  house-style  write":      {Command: "skill", Subject: "house-style", Text: "write"},
		"/tool nothing at all":            {Command: "tool", Subject: "nothing", Text: "at all"},
		"/read_file a.txt":                {Command: "tool", Subject: "read_file", Text: "a.txt"},
		"/read-file\na.txt":               {Command: "tool", Subject: "read_file", Text: "a.txt"},
		"/house-style a.txt":              {Command: "tool", Subject: "house_style", Text: "a.txt"},
		"/remember port 8472":             {Command: "remember", Subject: "port", Text: "8472"},
		`/remember "deploy port" "8472"`:  {Command: "remember", Subject: "deploy port", Text: `"8472"`},
		"/remember\tport\u00a08472":       {Command: "remember", Subject: "port", Text: "8472"},
	} {
		got, err := ParseEntry(entry, capabilities)
		require.NoError(t, err, entry)
		require.Equal(t, want, got, entry)
	}
	for entry, want := range map[string]string{
		"/":                            `there is no command "/"; see /help. A text that begins with a slash is sent with two: //`,
		"/ hello":                      `there is no command "/"`,
		"/hepl":                        `there is no command "/hepl"; did you mean /help? A text that begins with a slash is sent with two: //hepl`,
		"/HELP":                        `there is no command "/HELP"; did you mean /help?`,
		"/red_file a":                  `there is no command "/red_file"; did you mean /read_file?`,
		"/etc/hosts what is it?":       `there is no command "/etc/hosts"; see /help. A text that begins with a slash is sent with two: //etc/hosts`,
		"/quit now":                    `/quit takes no argument, but there is "now"`,
		"/tool":                        "/tool: the name is missing; use /tool NAME REQUEST",
		"/tool read_file":              "/tool: the request is missing; use /tool NAME REQUEST",
		"/read-file":                   "/read-file: the request is missing; use /read-file REQUEST",
		"/remember":                    "/remember: the key is missing; use /remember KEY VALUE",
		"/remember port":               "/remember: the value is missing",
		`/remember "deploy port`:       `/remember: the quote of "\"deploy port" does not end; use /remember KEY VALUE`,
		`/remember "" 1`:               "/remember: the key is missing",
		"/" + strings.Repeat("字", 100): `there is no command "/` + strings.Repeat("字", 39) + `…"`,
	} {
		_, err := ParseEntry(entry, capabilities)
		var entryErr *EntryError
		require.ErrorAs(t, err, &entryErr, entry)
		require.ErrorContains(t, err, want[:min(len(want), 60)], entry)
		require.True(t, IsEntryError(err))
	}
}

func TestEveryCommandIsInTheHelpAndHasCode(t *testing.T) {
	t.Parallel()
	c := openChat(t, configure(t), &answers{})
	out, err := c.Do(t.Context(), "/help")
	require.NoError(t, err)
	for _, command := range SlashCommands() {
		require.Contains(t, out.Table.Rows, []any{command.Usage(), command.About})
		entry := "/" + command.Name + strings.Repeat(" read_file", command.least)
		require.NotPanics(t, func() { _, _ = c.Do(t.Context(), entry) }, entry)
	}
}

// What is not a command is sent as it stands, and what is none is never sent.
func FuzzParseEntry(f *testing.F) {
	for _, entry := range []string{"hello", "/quit", "//quit", "/tool a b", `/remember "a" b`, "/x", "/\x00", " / ", "/remember \"\xff\" \xff", "/resume \"\""} {
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		got, err := ParseEntry(entry, []string{"read_file"})
		trimmed := strings.TrimSpace(entry)
		switch {
		case err != nil:
			require.True(t, strings.HasPrefix(trimmed, "/") && !strings.HasPrefix(trimmed, "//"))
			require.Equal(t, Entry{}, got)
			require.NotEmpty(t, err.Error())
			if utf8.ValidString(entry) {
				require.True(t, utf8.ValidString(err.Error()))
			}
		case strings.HasPrefix(trimmed, "//"):
			require.Equal(t, Entry{Text: trimmed[1:]}, got)
		case strings.HasPrefix(trimmed, "/"):
			command, ok := findCommand(got.Command)
			require.True(t, ok)
			require.Contains(t, entry, got.Text)
			require.Equal(t, command.least > 1, got.Text != "")
			if command.least > 0 {
				require.NotEmpty(t, got.Subject)
			}
		default:
			require.Equal(t, Entry{Text: trimmed}, got)
		}
	})
}
