package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzArguments checks that whatever passes is one canonical JSON object that fits the schema, and that nothing else
// than an Error comes out.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a"}`, `""`, `null`, `[]`, `{"text":"a"}{"x":1}`, "{\"text\":\"a\nb\"}", `"{\"text\":\"a\"}"`, `{"text":"a","times":2.0,"tone":null}`,
		`{"text":"\ud800"}`, `{"text":"a","tags":["x"]}`, `{"text":"a","times":1e0}`, `{"text":"a","text":"b"}`, "{", "\xff", `{"text":"<&>\u2028"}`,
	} {
		f.Add(seed)
	}
	tool, err := Func(Spec{Name: "say"}, func(context.Context, echoArgs) (Result, error) { return Result{}, nil })
	require.NoError(f, err)
	spec := tool.Spec()
	resolved, err := spec.Parameters.CloneSchemas().Resolve(nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, raw string) {
		canonical, problem := canonicalArguments(spec, json.RawMessage(raw))
		if problem != nil {
			require.Equal(t, KindInvalidArguments, problem.Kind)
			require.NotContains(t, problem.Error(), "\n")
			return
		}
		var value any
		require.NoError(t, json.Unmarshal(canonical, &value))
		require.NoError(t, resolved.Validate(value))
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, canonical))
		require.Equal(t, compact.String(), string(canonical))
		again, problem := canonicalArguments(spec, canonical)
		require.Nil(t, problem)
		require.Equal(t, string(canonical), string(again))
		_, err := tool.Call(t.Context(), canonical)
		require.NoError(t, err)
	})
}

// FuzzShell checks that an accepted command line consists of allowed programs only, with arguments that do not leave the
// workspace, and that nothing in it is left for a shell to read.
func FuzzShell(f *testing.F) {
	for _, seed := range []string{
		"ls", "ls -la | cat", "echo 'a;b' && ls", "ls;id", "cat <(id)", "echo $(id)", "ls>x", "A=1 id", "cat ../x", "echo {a,b}", `find . -exec id \;`, "ls\nid",
		"git log -S --output=x", "sort -o x", "cat *", "ls 2>&1 >/dev/null", `l\s`, "'ls'", `"l"s`, "ls # x", "echo ~", "cat link/*", "l?", "[l]s", "*", "cat -- -x",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	allowed := DefaultCommands()
	s := &shell{w: newWorkspace(dir, nil), options: ShellOptions{}.withDefaults()}
	f.Fuzz(func(t *testing.T, command string) {
		plan, problem := s.parse(command)
		if problem != nil {
			require.NotContains(t, problem.Error(), "\n")
			return
		}
		commands := plan.commands()
		require.NotEmpty(t, commands)
		for _, c := range commands {
			require.Contains(t, allowed, c.argv[0])
			require.False(t, slices.ContainsFunc(c.argv, func(word string) bool { return strings.ContainsAny(word, "\x00\n\r") }))
			if slices.Contains([]string{"cat", "ls", "head", "wc"}, c.argv[0]) {
				for _, word := range c.argv[1:] {
					abs := word
					if !filepath.IsAbs(abs) {
						abs = filepath.Join(dir, abs)
					}
					require.True(t, strings.HasPrefix(word, "-") || word == "/dev/null" || isWithin(dir, abs), "%q", word)
				}
			}
		}
	})
}
