//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// commandFile is the file of a skill with the command and string arguments a, b, …, as many as there are settings.
func commandFile(command string, settings ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: x\ndescription: d\ncommand: %s\n", quoteYAML(command))
	for i, s := range settings {
		if i == 0 {
			b.WriteString("arguments:\n")
		}
		fmt.Fprintf(&b, "- {name: %c, %s}\n", 'a'+i, s)
	}
	return b.String()
}

func quoteYAML(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// runSkill makes a skill of a command with one string argument a for each value, and calls it.
func runSkill(t *testing.T, ws, command string, values ...string) (Result, error) {
	t.Helper()
	args := map[string]any{}
	settings := make([]string, len(values))
	for i, v := range values {
		args[string(rune('a'+i))] = v
		settings[i] = "type: string"
	}
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"x.yaml": commandFile(command, settings...)})
	return call(t, r, "x", args)
}

// skillRefuses shows that a value is refused before anything runs, and that nothing changes. It returns why.
func skillRefuses(t *testing.T, ws, command string, values ...string) *Error {
	t.Helper()
	_, err := runSkill(t, ws, command, values...)
	before := tree(t, ws)
	_, again := runSkill(t, ws, command, values...)
	require.Equal(t, err, again)
	var problem *Error
	require.ErrorAs(t, err, &problem, "%s %q", command, values)
	require.Contains(t, []Kind{KindDenied, KindInvalidArguments, KindNotFound}, problem.Kind)
	require.NotEmpty(t, problem.Fix)
	requireSameTree(t, before, ws, command)
	return problem
}

func TestCommandSkill(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"my notes.txt": "one\ntwo one\nthree\n"})
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"a.yaml": countWord})
	tool, ok := r.Lookup("count_word")
	require.True(t, ok)
	spec := tool.Spec()
	require.True(t, spec.ReadOnly)
	require.Equal(t, "file", spec.Path)
	require.Equal(t, []Subject{SubjectText, SubjectOther, SubjectFolder, SubjectNone}, spec.Takes)
	require.Equal(t, []string{"word", "file"}, spec.Parameters.PropertyOrder)
	require.Equal(t, []string{"word", "file"}, spec.Parameters.Required)
	require.Equal(t, "the word", spec.Parameters.Properties["word"].Description)
	require.Equal(t, "string", spec.Parameters.Properties["file"].Type)
	require.Contains(t, spec.Limits, "runs: grep -c -F -e {word} {file}")

	result := mustCall(t, r, "count_word", map[string]any{"word": "one", "file": "my notes.txt"})
	require.Equal(t, "exit code 0\n2", result.Text)
	data := result.Data.(ShellResult)
	require.Equal(t, "grep -c -F -e one 'my notes.txt'", data.Command)
	require.Equal(t, "2\n", data.Stdout)

	problem := callError(t, r, "count_word", map[string]any{"word": "one", "file": "my note.txt"}, KindNotFound)
	require.Contains(t, problem.Fix, "my notes.txt")
	callError(t, r, "count_word", map[string]any{"file": "my notes.txt"}, KindInvalidArguments)
	callError(t, r, "count_word", map[string]any{"word": "", "file": "my notes.txt"}, KindInvalidArguments)
	callError(t, r, "count_word", map[string]any{"word": strings.Repeat("x", 501), "file": "my notes.txt"}, KindInvalidArguments)
	callError(t, r, "count_word", map[string]any{"word": "x", "file": "my notes.txt", "more": 1}, KindInvalidArguments)
}

func TestValuesAreSingleArgumentsByteForByte(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"a.txt": "x\n", "b.txt": "x\n"})
	for _, value := range []string{
		"plain", "two words", "  spaces  ", ";id", "$(id)", "`id`", "a && b", "a|sh", ">pwned", "<(id)", "${HOME}", "$HOME", "~", "*", "*.txt", "[ab].txt", "?.txt", "{a,b}", "{1..9}",
		"'", `"`, `\`, `\\`, `a\ b`, "it's \"q\"", "#x", "!x", "{a}", "{b}", "a=b", "漢字 é", "\\n", "%s", "<|im_start|>", "tab\there"[:3], "@(a|b)", "&", "(id)", "=", "+x",
	} {
		for command, want := range map[string]string{
			"echo {a}":               value + "\n",
			`echo "{a}"`:             value + "\n",
			`echo pre-{a}.post`:      "pre-" + value + ".post\n",
			`echo "pre {a} post"`:    "pre " + value + " post\n",
			`echo {a}{a} '{a}' \{a}`: value + value + " {a} {a}\n",
			`echo a"{a}"'b'`:         "a" + value + "b\n",
			`echo {a} | cat`:         value + "\n",
			`echo 1; echo {a}`:       "1\n" + value + "\n",
		} {
			result, err := runSkill(t, ws, command, value)
			require.NoError(t, err, "%s %q", command, value)
			require.Equal(t, want, result.Data.(ShellResult).Stdout, "%s %q", command, value)
		}
	}
	require.Equal(t, map[string]string{"a.txt": "x\n", "b.txt": "x\n"}, func() map[string]string {
		out := tree(t, ws)
		delete(out, "skills/x.yaml")
		return out
	}())
	result, err := runSkill(t, ws, "echo {a} {b}", "{b}", "{a}")
	require.NoError(t, err)
	require.Equal(t, "{b} {a}\n", result.Data.(ShellResult).Stdout, "a value is not a template")
	result, err = runSkill(t, ws, "echo *.txt [{a}].txt {a}*", "ab")
	require.NoError(t, err)
	require.Equal(t, "a.txt b.txt a.txt b.txt ab*\n", result.Data.(ShellResult).Stdout, "patterns of the template work")
	result, err = runSkill(t, ws, "echo {a}*", "*")
	require.NoError(t, err)
	require.Equal(t, "**\n", result.Data.(ShellResult).Stdout, "and those of values don't")
}

// TestSlotsCannotRunAnything puts the inputs of BC-17 and BC-18 into slots.
func TestSlotsCannotRunAnything(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"a": "id\n", "my dir/inner.txt": "x\n"})
	for _, value := range []string{
		"a\nid>pwned", "a\r\nid", "a\rid", "\n", "a\x00b", "\x00", "\x1b[2J", "a\u0085b", "a\tb",
	} {
		for _, command := range []string{"echo {a}", `echo "{a}"`, "cat {a}", "ls x{a}"} {
			require.Contains(t, skillRefuses(t, ws, command, value).Message, "control character", "%q", value)
		}
	}
	for command, values := range map[string][]string{
		"find . {a}":                {"-delete", "-exec", "-fprint", "-L", "-files0-from"},
		"find . -name {a} {b}":      {"x", "-delete"},
		"sort {a} a":                {"-o", "-oa", "--output=x", "--compress-program=id"},
		"sort -{a} a":               {"-output=x", "o", "T"},
		"sort --{a} a":              {"output=x", "compress-program=id", "outp=x"},
		"git {a}":                   {"commit", "push", "-c", "--exec-path=.", "fetch", "config"},
		"git grep {a} x":            {"--open-files-in-pager=id", "-O", "-Oid"},
		"git log {a}":               {"--output=x", "-p", "--ext-diff"},
		"git diff {a}":              {"--no-index", "--output=x", "/etc/passwd", "../x"},
		"grep {a} a":                {"-f", "-f/etc/passwd", "--file=/etc/passwd", "-R"},
		"grep -{a} x a":             {"f/etc/passwd", "R"},
		"uniq a {a}":                {"b"},
		"date {a}":                  {"01010101", "-s", "--set=12:00", "-f"},
		"tail {a} a":                {"-f", "-F", "--follow"},
		"file {a}":                  {"-f", "-m", "-C", "/etc/passwd"},
		"wc {a}":                    {"--files0-from=a", "/etc/passwd", "../x", "my dir/../../x"},
		"cat {a}":                   {"../../etc/passwd", "/etc/passwd", "..", "/", "/proc/self/environ", "/dev/zero", "/dev/stdin", "my dir/../..", "-", "-n", "--", "my dir/../../../etc/passwd"},
		`cat "{a}"`:                 {"../../etc/passwd", "/etc/passwd"},
		`cat my\ dir/{a}`:           {"../../etc/passwd", "..", "../.."},
		"cat {a}/*":                 {"/etc", "..", "/"},
		"ls {a}":                    {"/", "..", "-L", "-LR"},
		"ls ./{a}":                  {"../..", ".."},
		"grep -e x -f{a} a":         {"/etc/passwd"},
		"grep --file={a} a":         {"/etc/passwd", "../x"},
		"head -n 1 {a}":             {"/etc/passwd"},
		"stat {a}":                  {"-L", "/etc/passwd"},
		"grep -c x {a} /etc/{b}":    {"a", "passwd"},
		"find {a}":                  {"/etc", "..", "-L", "-H"},
		"find . -newer {a}":         {"/etc/passwd"},
		"cat a {a}; cat /etc/{b} a": {"a", "passwd"},
	} {
		if strings.Contains(command, "{b}") {
			skillRefuses(t, ws, command, values...)
			continue
		}
		for _, value := range values {
			skillRefuses(t, ws, command, value)
		}
	}
	require.Contains(t, skillRefuses(t, ws, "find . {a}", "-exec").Error(),
		`the value "-exec" of a begins with - and would be read as an option; nothing was run; give a value that begins otherwise; for a file, put ./ in front`)
	require.Contains(t, skillRefuses(t, ws, "cat {a}", "../../etc/passwd").Error(), `cat: the path "../../etc/passwd" contains ..`)
}

func TestDashesNeedLeave(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"a.txt": "-v\nx\n", "-v": "file\n"})
	load := func(command, settings string) *Registry {
		return skillRegistry(t, ws, ShellOptions{}, map[string]string{"x.yaml": commandFile(command, settings)})
	}
	stdout := func(r *Registry, value any) string {
		return mustCall(t, r, "x", map[string]any{"a": value}).Data.(ShellResult).Stdout
	}
	r := load("grep -c {a} x a.txt", "allow_dash: true")
	require.Equal(t, "1\n", stdout(r, "-v"))
	for _, value := range []string{"-f/etc/passwd", "-R", "--file=../x"} {
		problem := callError(t, r, "x", map[string]any{"a": value}, KindDenied)
		require.NotContains(t, problem.Message, "begins with -", "the rules of the program stand")
	}
	require.Equal(t, "1\n", stdout(load("grep -c -- {a} a.txt", "allow_dash: true"), "-v"))
	require.Equal(t, "-v\n", stdout(load("grep --regexp={a} a.txt", "type: string"), "-v"), "attached, it is no option")
	require.Equal(t, "x-v\n", stdout(load("echo x{a}", "type: string"), "-v"))
	require.Equal(t, "file\n", stdout(load("cat {a}", "type: path"), "./-v"))
	callError(t, load("cat {a}", "type: path"), "x", map[string]any{"a": "-v"}, KindDenied)
	for _, command := range []string{"echo {a}", "echo ''{a}", `echo ""{a}`, `echo \-{a}`, `echo '-'{a}`, `echo "-{a}"`, `echo "--"{a}`} {
		callError(t, load(command, "type: string"), "x", map[string]any{"a": "-v"}, KindDenied)
	}
	require.Equal(t, "-5\n", stdout(load("echo {a}", "type: integer, allow_dash: true"), -5))
	callError(t, load("echo {a}", "type: integer, minimum: -9"), "x", map[string]any{"a": -5}, KindDenied)
	callError(t, load("echo {a}", "type: integer"), "x", map[string]any{"a": -5}, KindInvalidArguments)
	r = skillRegistry(t, ws, ShellOptions{}, map[string]string{"x.yaml": commandFile("echo {a}{b}", "allow_dash: true", "type: string")})
	callError(t, r, "x", map[string]any{"a": "-", "b": "-v"}, KindDenied)
	require.Equal(t, "-v\n", mustCall(t, r, "x", map[string]any{"a": "-", "b": "v"}).Data.(ShellResult).Stdout)
	require.Equal(t, "x-v\n", mustCall(t, r, "x", map[string]any{"a": "x", "b": "-v"}).Data.(ShellResult).Stdout, "behind a value, it is no option")
}

func TestPathArgumentsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	ws, outside := escapes(t)
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"x.yaml": commandFile("echo {a}", "type: path")})
	for _, path := range []string{
		"leak", "link/s.txt", "link", "link/", "sub/up", "link-to-link", "self", "dangling", outside, outside + "/s.txt", "../x", "sub/../a.txt", "sub/../../x", "/etc/passwd", "link/new.txt",
		"a.txt\x00", "a\nb",
	} {
		problem := callError(t, r, "x", map[string]any{"a": path}, KindDenied)
		require.NotEmpty(t, problem.Fix, path)
	}
	for _, path := range []string{"a.txt", "inside", "folder/b.txt", "folder", "./a.txt", ws + "/a.txt", "."} {
		require.Equal(t, path+"\n", mustCall(t, r, "x", map[string]any{"a": path}).Data.(ShellResult).Stdout)
	}
	callError(t, r, "x", map[string]any{"a": "missing.txt"}, KindNotFound)
	r = skillRegistry(t, ws, ShellOptions{}, map[string]string{"x.yaml": commandFile("cat {a}", "type: string")})
	for _, path := range []string{"leak", "link/s.txt", "sub/up", "link-to-link"} {
		callError(t, r, "x", map[string]any{"a": path}, KindDenied)
	}
	require.Equal(t, "inside\n", mustCall(t, r, "x", map[string]any{"a": "inside"}).Data.(ShellResult).Stdout)
}

func TestArgumentTypes(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"x.yaml": `
name: x
description: d
arguments:
- {name: text, default: "a b", max_length: 5}
- {name: unit, enum: [lines, "words"], default: lines, description: what to count}
- {name: count, type: integer, minimum: 1, maximum: 9, default: 3}
- {name: share, type: number, maximum: 1, default: 0.5}
- {name: all, type: boolean, default: false}
- {name: code, pattern: "[A-Z]{2}|x+", description: a code}
- {name: unused, required: false}
command: echo {text} {unit} {count} {share} {all} {code}
timeout_seconds: 0.5
`})
	tool, _ := r.Lookup("x")
	spec := tool.Spec()
	require.Equal(t, []string{"code"}, spec.Parameters.Required)
	require.Equal(t, "a code (matching [A-Z]{2}|x+)", spec.Parameters.Properties["code"].Description)
	require.Equal(t, []Subject{SubjectNone}, spec.Takes)
	require.Empty(t, spec.Path)
	require.False(t, spec.ReadOnly)
	for _, p := range spec.Parameters.Properties {
		switch p.Type {
		case "string":
			require.True(t, p.MaxLength != nil || p.Enum != nil, "bounded")
		case "integer", "number":
			require.True(t, p.Minimum != nil && p.Maximum != nil, "bounded")
		}
	}
	for args, want := range map[string]string{
		`{"code":"AB"}`: "a b lines 3 0.5 false AB\n",
		`{"code":"xx","text":"","unit":"WORDS","count":9.0,"share":0.25,"all":true,"unused":"z"}`: "a b words 9 0.25 true xx\n",
	} {
		result, err := r.Call(t.Context(), "x", json.RawMessage(args))
		require.NoError(t, err, args)
		require.Equal(t, want, result.Data.(ShellResult).Stdout)
	}
	for args, want := range map[string]string{
		`{"code":"AB","count":10}`:      `argument "count" is 10; the largest allowed is 9`,
		`{"code":"AB","share":2}`:       `argument "share" does not fit`,
		`{"code":"AB","share":-1}`:      `argument "share" does not fit`,
		`{"code":"AB","all":"yes"}`:     `must be true or false`,
		`{"code":"AB","unit":"bytes"}`:  `must be one of "lines" or "words"`,
		`{"code":"AB","text":"123456"}`: `has 6 characters; at most 5 are allowed`,
		`{"code":"ab"}`:                 `x: argument "code" is "ab", which does not match [A-Z]{2}|x+; nothing was run; give a value that matches`,
		`{"code":"ABC"}`:                `does not match`,
		`{"code":"AB\nx"}`:              `control character`,
	} {
		_, err := r.Call(t.Context(), "x", json.RawMessage(args))
		require.ErrorContains(t, err, want, args)
	}
}

func TestBrokenCommandSkills(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "it is empty",
		"# nothing\n":                            "it is empty",
		"just text":                              "1: the skill is the text \"just text\", not a mapping",
		"- a":                                    "1: the skill is a list, not a mapping",
		"name: x\nname: y":                       `2: the skill has the key "name" twice`,
		"name: x\ncomand: ls":                    `2: the skill has an unknown key "comand"; did you mean "command"?`,
		"? [a]\n: b":                             "1: a key of the skill is a list",
		"name: x\n---\nname: y":                  "it has more than one YAML document",
		"name: x\ndescription: d":                "it has no command",
		"description: d":                         "it has no name",
		"name: x\ncommand: ls":                   "it has no description",
		"name: [x]":                              `1: "name" of the skill must be text, not a list`,
		"name: true":                             `1: "name" of the skill must be text, not true`,
		"name: &n x\ndescription: *n":            `2: "description" of the skill must be text, not an alias (*n)`,
		"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]": `1: the skill has an unknown key "a"`,
		"<<: {name: x}":                          `1: the skill has an unknown key "<<"`,
		"name: !!binary eA==":                    `must be text, not "eA==" with the tag !!binary`,
		"name: !foo x":                           `must be text, not "x" with the tag !foo`,
		"name: x\n\tdescription: d":              "it is not valid YAML",
		"name: x\ndescription: d\ncommand: ls\nread_only: maybe":                               `4: "read_only" of the skill must be true or false, not the text "maybe"`,
		"name: x\ndescription: d\ncommand: ls\ntimeout_seconds: 0":                             "4: timeout_seconds is 0; give a number from 0.1 to 86400",
		"name: x\ndescription: d\ncommand: ls\ntimeout_seconds: 1e9":                           "4: timeout_seconds is 1e+09",
		"name: x\ndescription: d\ncommand: ls\ntimeout_seconds: .inf":                          "4: \"timeout_seconds\" of the skill is not a number",
		"name: x\ndescription: d\ncommand: ls\ntimeout_seconds: 5s":                            `must be a number, not the text "5s"`,
		"name: x\ndescription: d\ncommand: ls\narguments: a":                                   `4: "arguments" of the skill must be a list, not the text "a"`,
		"name: x\ndescription: d\ncommand: ls\narguments: [a]":                                 `4: argument 1 is the text "a", not a mapping`,
		"name: x\ndescription: d\ncommand: [ls]":                                               `3: "command" of the skill must be text, not a list`,
		"name: x\ndescription: d\ncommand: " + strings.Repeat("a", 1001):                       "the command has more than 1000 characters",
		"name: x\ndescription: d\ncommand: ls\narguments: [" + strings.Repeat("{},", 17) + "]": `has 17 entries; at most 16 are allowed`,
		"name: x\ndescription: " + strings.Repeat("é", 1025):                                   "2: the description has 1025 characters",
		"name: \"a\x00b\"":         "it contains a NUL byte",
		strings.Repeat("[", 60000): "it is not valid YAML",
	} {
		require.Contains(t, brokenSkill(t, text).String(), want, "%.80q", text)
	}
}

func TestBrokenArguments(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"{}":                                                       `the name "" of argument 1 is not allowed`,
		"{name: A}":                                                `the name "A" of argument 1 is not allowed`,
		"{name: a-b}":                                              "is not allowed",
		"{name: a, typ: string}":                                   `argument 1 has an unknown key "typ"; did you mean "type"?`,
		"{name: a, type: text}":                                    `has an unknown type "text"; the types are string, path, integer, number, boolean`,
		"{name: a, required: true, default: b}":                    "is required and has a default",
		"{name: a, required: false}":                               `the argument "a" may be missing, but the command has a slot for it`,
		"{name: a, default: 5}":                                    `"default" of the argument "a" must be text, not 5`,
		"{name: a, default: \"\"}":                                 `the default of the argument "a" is empty`,
		"{name: a, default: \"a\\nb\"}":                            "has a line end or another control character",
		"{name: a, default: abc, max_length: 2}":                   "has 3 characters; at most 2 are allowed",
		"{name: a, default: c, enum: [a, b]}":                      `must be one of "a" or "b", not "c"`,
		"{name: a, default: x, pattern: y+}":                       `the default of the argument "a" is "x", which does not match y+`,
		"{name: a, enum: []}":                                      "has no choices",
		"{name: a, enum: [1]}":                                     `a choice of the argument "a" must be text, not 1`,
		"{name: a, enum: [\"\"]}":                                  "is empty or has a control character",
		"{name: a, enum: {b: c}}":                                  "must be a list",
		"{name: a, enum: [-x, y]}":                                 `the value "-x" of a begins with - and would be read as an option; say allow_dash: true for "a" if that is meant`,
		"{name: a, default: -x}":                                   "say allow_dash: true",
		"{name: a, type: integer, minimum: -5, default: -1}":       "say allow_dash: true",
		"{name: a, max_length: 0}":                                 "max_length of the argument \"a\" is 0; give a whole number from 1 to 4000",
		"{name: a, max_length: 1.5}":                               "is 1.5",
		"{name: a, max_length: 4001}":                              "is 4001",
		"{name: a, pattern: \"(\"}":                                "the pattern of the argument \"a\" cannot be used",
		"{name: a, pattern: \"" + strings.Repeat("a", 201) + "\"}": "has more than 200 bytes",
		"{name: a, minimum: 1}":                                    `"minimum" means nothing for an argument of type string`,
		"{name: a, type: integer, enum: [a]}":                      `"enum" means nothing for an argument of type integer`,
		"{name: a, type: boolean, maximum: 1}":                     `"maximum" means nothing`,
		"{name: a, type: boolean, default: 1}":                     "must be true or false",
		"{name: a, type: integer, default: 1.5}":                   "must be a whole number, not 1.5",
		"{name: a, type: integer, default: 18446744073709551615}":  "the default of the argument \"a\" is out of range",
		"{name: a, type: integer, default: 7, maximum: 6}":         "the largest allowed is 6",
		"{name: a, type: number, default: x}":                      "must be a number",
		"{name: a, type: number, minimum: 3, maximum: 2}":          "the minimum of the argument \"a\" is above its maximum",
		"{name: a}, {name: a}":                                     `there are two arguments "a"`,
	} {
		text := "name: x\ndescription: d\ncommand: echo {a}\narguments: [" + setting + "]\n"
		p := brokenSkill(t, text)
		require.Contains(t, p.String(), want, setting)
		require.Contains(t, []int{3, 4}, p.Line, setting)
	}
}

func TestTemplatesThatCanNeverPass(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"echo $(id)":                "command substitution is not allowed",
		"echo `id`":                 "command substitution is not allowed",
		"cat <(id) {a}":             "process substitution is not allowed",
		"echo $HOME {a}":            "variables and arithmetic are not expanded",
		`echo "$HOME {a}"`:          "variables and arithmetic are not expanded",
		`echo "$(id) {a}"`:          "command substitution is not allowed",
		"echo {a} >out":             "redirecting output to files is not allowed",
		"echo x >{a}":               "redirecting output to files is not allowed",
		"cat <{a}":                  "redirecting input is not allowed",
		"cat <<< {a}":               "here-documents are not allowed",
		"echo {a} &":                "background jobs (&) are not allowed",
		"A={a} ls":                  "setting variables is not allowed",
		"A=1 ls {a}":                "setting variables is not allowed",
		"({a})":                     "the slot {a} is in the place of the program",
		"{a}":                       "the slot {a} is in the place of the program",
		"{a} x":                     "the slot {a} is in the place of the program",
		`"{a}" x`:                   "the slot {a} is in the place of the program",
		"l{a}":                      "the slot {a} is in the place of the program",
		"ls | {a}":                  "the slot {a} is in the place of the program",
		"ls && ls; {a}":             "the slot {a} is in the place of the program",
		"echo {b}":                  "the command has a slot {b}, but there is no such argument",
		"echo {A}":                  "the command has a slot {A}, but there is no such argument",
		"echo {a-b}":                "the command has a slot {a-b}",
		"echo @{upstream}":          "the command has a slot {upstream}, but there is no such argument; declare it under arguments, or put a literal { between single quotes",
		"id":                        `"id" is not among the allowed programs`,
		"id {a}":                    `"id" is not among the allowed programs; the allowed programs are ls, cat`,
		"ls {a} | sh":               `"sh" is never allowed: it is an interpreter`,
		"xargs {a}":                 `"xargs" is never allowed`,
		"/bin/ls {a}":               `the program "/bin/ls" is given by path`,
		"sort -o {a} x":             `sort is not allowed to use "-o"`,
		"find . -exec {a}":          `find is not allowed to use "-exec"`,
		"find . -name {a} -delete":  `find is not allowed to use "-delete"`,
		"git push {a}":              `git is not allowed to use "push"`,
		"cat /etc/passwd {a}":       `"/etc/passwd" is outside the folders that may be read`,
		"cat ../{a}":                "", // the reason names the value
		"echo {a,b}":                "brace expansion {a,b} is not allowed",
		"echo {{a},b}":              "brace expansion {a,b} is not allowed",
		"echo ~/{a}":                "~ is not allowed",
		"echo 'unfinished {a}":      "the command is not valid shell",
		"echo {a}\nid":              "the command contains a line end",
		"echo {a}\x01":              "the command contains a line end or another control character",
		"for i in {a}; do ls; done": "a loop or condition is not allowed",
		"{ ls {a}; }":               "a group { } is not allowed",
		"(ls {a})":                  "a subshell ( ) is not allowed",
		"f() { ls {a}; }":           "a function is not allowed",
		"! ls {a}":                  "!, |& and &| are not allowed here",
		"# {a}":                     "the command is empty",
		"grep -c {a}":               "grep is not given a file, and its input is empty",
		"tail -f {a}":               `tail is not allowed to use "-f"`,
		"echo " + strings.Repeat("{a}; echo ", 20) + "x": "more than 16 programs",
	} {
		text := commandFile(command, "type: string")
		if want == "" {
			ws := t.TempDir()
			skillRefuses(t, ws, command, "x")
			continue
		}
		p := brokenSkill(t, text)
		require.Contains(t, p.String(), want, command)
		require.NotContains(t, p.String(), "nothing was run", command)
		require.Equal(t, 3, p.Line, command)
	}
	require.Contains(t, brokenSkill(t, commandFile("cat logs/{a}", "type: path")).Reason, "cannot follow a /")
}

func TestTemplatesThatPassWithSomeValues(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	for _, command := range []string{
		"git {a}", "date {a}", "date +{a}", "sort -{a} x", "find {a}", "find . -{a}", "find . -maxdepth {a}", "head -n {a} x", "echo '@{upstream}' {a}", `echo \{b} {a}`, "ls", "echo {a} 2>/dev/null",
		"uniq {a}", "cut -d {a} -f 1 x", "ls {a} | head -n 2 && echo done", `grep "{a}" *`, "cat {a} {a}", "cat {a} # {b}",
	} {
		writeFiles(t, ws, map[string]string{"skills/x.yaml": commandFile(command, "type: string")})
		require.Empty(t, loadSkills(t, ws).Problems, command)
	}
}

func TestSkillsOfAShellThatIsOff(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"skills/a.yaml": countWord, "skills/b/SKILL.md": styleGuide})
	set := LoadSkills(SkillOptions{Dirs: []string{"skills"}, Shell: ShellOptions{Workspace: ws, AllowedCommands: []string{}}})
	require.Len(t, set.Skills, 1, "instructions need no shell")
	require.Contains(t, set.Problems[0].Reason, `"grep" is not among the allowed programs`)
	set = LoadSkills(SkillOptions{Dirs: []string{"skills"}, Shell: ShellOptions{Workspace: ws, AllowedRoots: []string{t.TempDir()}}})
	require.Len(t, set.Skills, 1)
	require.Contains(t, set.Problems[0].Reason, "outside the folders that may be read")
}

// TestSkillsThatNeverReturn is BC-19 through a skill.
func TestSkillsThatNeverReturn(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	options := ShellOptions{AllowedCommands: []string{"sleep", "yes", "echo", "cat"}, Timeout: 300 * time.Millisecond, MaxOutputBytes: 1000}
	for command, values := range map[string]string{"sleep {a}": "60", "yes {a}": "y", "yes {a} | cat": "y", "echo first {a}; sleep 60": "now"} {
		r := skillRegistry(t, ws, options, map[string]string{"x.yaml": commandFile(command, "type: string")})
		result, err := call(t, r, "x", map[string]any{"a": values})
		var problem *Error
		require.ErrorAs(t, err, &problem, command)
		require.Equal(t, KindTimeout, problem.Kind)
		data := problem.Data.(ShellResult)
		require.True(t, data.TimedOut)
		require.LessOrEqual(t, len(data.Stdout), 1000)
		if strings.HasPrefix(command, "echo first") {
			require.Contains(t, result.Text, "timed out; the output so far:\nfirst now")
		}
	}
	r := skillRegistry(t, ws, options, map[string]string{"x.yaml": commandFile("sleep {a}", "type: integer") + "timeout_seconds: 0.1\n"})
	_, err := call(t, r, "x", map[string]any{"a": 60})
	require.ErrorContains(t, err, "did not finish within 100ms", "its own limit")

	options.Timeout = time.Minute
	r = skillRegistry(t, ws, options, map[string]string{"x.yaml": commandFile("sleep {a}", "type: integer")})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = r.Call(ctx, "x", json.RawMessage(`{"a":60}`))
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoSecretsReachSkills(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-test")
	r := skillRegistry(t, t.TempDir(), ShellOptions{AllowedCommands: []string{"printenv"}}, map[string]string{"x.yaml": commandFile("printenv")})
	result := mustCall(t, r, "x", nil)
	require.NotContains(t, result.Text, "sk-test")
	require.Contains(t, result.Text, "GIT_TERMINAL_PROMPT=0")
}

func TestSkillsRunSideBySide(t *testing.T) {
	t.Parallel()
	r := skillRegistry(t, t.TempDir(), ShellOptions{}, map[string]string{"x.yaml": commandFile(`echo "<{a}>" {a}*`, "type: string")})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			result, err := r.Call(t.Context(), "x", json.RawMessage(fmt.Sprintf(`{"a":"v%d"}`, i)))
			if err != nil || result.Data.(ShellResult).Stdout != fmt.Sprintf("<v%d> v%d*\n", i, i) {
				t.Errorf("%d: %q, %v", i, result.Text, err)
			}
		})
	}
	group.Wait()
}

func TestCommandsOfSkillsAreShownAsTheyCouldBeTyped(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(ws, "x"), 0o755))
	for _, value := range []string{"a", "a b", "it's", `"`, "$x", "{a}", "é"} {
		result, err := runSkill(t, ws, `echo {a} "<{a}>" '{a}' x{a}`, value)
		require.NoError(t, err)
		data := result.Data.(ShellResult)
		again, err := run(t, shellRegistry(t, ShellOptions{Workspace: ws}), data.Command)
		require.NoError(t, err, data.Command)
		require.Equal(t, data.Stdout, again.Data.(ShellResult).Stdout, data.Command)
	}
}
