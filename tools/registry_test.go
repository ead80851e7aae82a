package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type echoArgs struct {
	Text  string   `json:"text" jsonschema:"what to say" arg:"minlen=1,maxlen=20"`
	Times int      `json:"times,omitempty" jsonschema:"how often" arg:"min=1,max=3,default=1"`
	Tone  string   `json:"tone,omitempty" jsonschema:"how" arg:"enum=calm|loud,default=calm,core"`
	Tags  []string `json:"tags,omitempty" jsonschema:"labels"`
}

// echoTool records the arguments it gets.
func echoTool(t *testing.T, name string, got *[]echoArgs) Tool {
	t.Helper()
	tool, err := Func(Spec{Name: name, Description: "Says a text."}, func(_ context.Context, args echoArgs) (Result, error) {
		*got = append(*got, args)
		return Result{Text: args.Text}, nil
	})
	require.NoError(t, err)
	return tool
}

type noArgs struct{}

func toolOf(t *testing.T, name string, fn func(ctx context.Context) (Result, error)) Tool {
	t.Helper()
	tool, err := Func(Spec{Name: name}, func(ctx context.Context, _ noArgs) (Result, error) { return fn(ctx) })
	require.NoError(t, err)
	return tool
}

func TestMalformedCallsAreExplainedAndNotRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool, args string
		kind       Kind
		says       []string
	}{
		"made-up name":      {"says", `{}`, KindUnknownTool, []string{`"says"`, `did you mean "say"?`, "the tools are say, other"}},
		"qualified name":    {"functions.say", `{}`, KindUnknownTool, []string{`did you mean "say"?`}},
		"trailing blank":    {"say ", `{}`, KindUnknownTool, []string{`"say "`, `did you mean "say"?`}},
		"empty string":      {"say", `""`, KindInvalidArguments, []string{"no arguments were given", "text (string, required)"}},
		"null":              {"say", `null`, KindInvalidArguments, []string{"no arguments were given"}},
		"nothing":           {"say", ``, KindInvalidArguments, []string{"no arguments were given"}},
		"array":             {"say", `[]`, KindInvalidArguments, []string{"are an array"}},
		"number":            {"say", `5`, KindInvalidArguments, []string{"`5`"}},
		"two objects":       {"say", `{"text":"a"}{"x":1}`, KindInvalidArguments, []string{"after the arguments object", "`{\"x\":1}`"}},
		"raw newline":       {"say", "{\"text\":\"a\nb\"}", KindInvalidArguments, []string{"raw control character", "a␊b", `write a newline as \n`}},
		"encoded twice":     {"say", `"{\"text\":\"a\"}"`, KindInvalidArguments, []string{"encoded as JSON twice"}},
		"cut off":           {"say", `{"text":"a`, KindInvalidArguments, []string{"end in the middle", "`{\"text\":\"a`"}},
		"single quotes":     {"say", `{'text':'a'}`, KindInvalidArguments, []string{"not valid JSON", "`{'text':'a'}`"}},
		"key given twice":   {"say", `{"text":"a","text":"b"}`, KindInvalidArguments, []string{`"text" is given twice`}},
		"not UTF-8":         {"say", "{\"text\":\"\xff\"}", KindInvalidArguments, []string{"not valid UTF-8"}},
		"unknown argument":  {"say", `{"text":"a","tmes":2}`, KindInvalidArguments, []string{`no argument "tmes" (did you mean "times"?)`, "times (integer, default 1)"}},
		"case of a name":    {"say", `{"Text":"a"}`, KindInvalidArguments, []string{`no argument "Text"`, `"text" is missing`}},
		"missing":           {"say", `{}`, KindInvalidArguments, []string{`"text" is missing`}},
		"required is null":  {"say", `{"text":null}`, KindInvalidArguments, []string{`"text" must be a string, not null`}},
		"required is empty": {"say", `{"text":""}`, KindInvalidArguments, []string{`"text" is empty`}},
		"too long":          {"say", `{"text":"` + strings.Repeat("é", 21) + `"}`, KindInvalidArguments, []string{"has 21 characters; at most 20"}},
		"wrong type":        {"say", `{"text":5}`, KindInvalidArguments, []string{`must be a string, not 5`}},
		"number as string":  {"say", `{"text":"a","times":"2"}`, KindInvalidArguments, []string{`must be a whole number, not the string "2"`}},
		"fraction":          {"say", `{"text":"a","times":1.5}`, KindInvalidArguments, []string{`must be a whole number, not 1.5`}},
		"below the minimum": {"say", `{"text":"a","times":0}`, KindInvalidArguments, []string{`is 0; the smallest allowed is 1`}},
		"above the maximum": {"say", `{"text":"a","times":4}`, KindInvalidArguments, []string{`is 4; the largest allowed is 3`}},
		"not in the enum":   {"say", `{"text":"a","tone":"angry"}`, KindInvalidArguments, []string{`one of "calm" or "loud", not "angry"`}},
		"wrong element":     {"say", `{"text":"a","tags":[1]}`, KindInvalidArguments, []string{`"tags" does not fit its schema`}},
		"several problems":  {"say", `{"times":0}`, KindInvalidArguments, []string{`"text" is missing`, "smallest allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []echoArgs
			r, err := NewRegistry(echoTool(t, "say", &got), echoTool(t, "other", &got))
			require.NoError(t, err)
			_, err = r.Call(t.Context(), tc.tool, json.RawMessage(tc.args))
			var problem *Error
			require.ErrorAs(t, err, &problem)
			require.Equal(t, tc.kind, problem.Kind)
			require.NotContains(t, problem.Error(), "\n")
			for _, text := range tc.says {
				require.Contains(t, problem.Error(), text)
			}
			require.Empty(t, got, "the tool ran on arguments it should not have")
		})
	}
}

func TestAcceptedCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args, canonical string
		want            echoArgs
	}{
		"defaults are filled in":         {`{"text":"a"}`, `{"text":"a"}`, echoArgs{Text: "a", Times: 1, Tone: "calm"}},
		"order and spaces do not matter": {"{ \"tone\" : \"loud\",\n\t\"text\":\"a\"}", `{"text":"a","tone":"loud"}`, echoArgs{Text: "a", Times: 1, Tone: "loud"}},
		"defaults given are left out":    {`{"text":"a","times":1,"tone":"calm"}`, `{"text":"a"}`, echoArgs{Text: "a", Times: 1, Tone: "calm"}},
		"optional null is not given":     {`{"text":"a","times":null,"tone":""}`, `{"text":"a"}`, echoArgs{Text: "a", Times: 1, Tone: "calm"}},
		"case of a choice":               {`{"text":"a","tone":"LOUD"}`, `{"text":"a","tone":"loud"}`, echoArgs{Text: "a", Times: 1, Tone: "loud"}},
		"spellings of a number":          {`{"text":"a","times":2.0}`, `{"text":"a","times":2}`, echoArgs{Text: "a", Times: 2, Tone: "calm"}},
		"nested quotes":                  {`{"text":"echo \"a\\\"b\""}`, `{"text":"echo \"a\\\"b\""}`, echoArgs{Text: `echo "a\"b"`, Times: 1, Tone: "calm"}},
		"escapes of one character":       {`{"text":"\u0061<\/b>"}`, `{"text":"a</b>"}`, echoArgs{Text: "a</b>", Times: 1, Tone: "calm"}},
		"arrays":                         {`{"text":"a","tags":[ "x" , "y" ]}`, `{"text":"a","tags":["x","y"]}`, echoArgs{Text: "a", Times: 1, Tone: "calm", Tags: []string{"x", "y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []echoArgs
			r, err := NewRegistry(echoTool(t, "say", &got))
			require.NoError(t, err)
			canonical, err := r.Validate("say", json.RawMessage(tc.args))
			require.NoError(t, err)
			require.Equal(t, tc.canonical, string(canonical))
			again, err := r.Validate("say", canonical)
			require.NoError(t, err)
			require.Equal(t, string(canonical), string(again))
			_, err = r.Call(t.Context(), "say", json.RawMessage(tc.args))
			require.NoError(t, err)
			require.Equal(t, []echoArgs{tc.want}, got)
		})
	}
}

func TestMissingArgumentsMeanNoneOnlyWhereNoneAreRequired(t *testing.T) {
	t.Parallel()
	calls := 0
	r, err := NewRegistry(toolOf(t, "now", func(context.Context) (Result, error) { calls++; return Result{Text: "ok"}, nil }))
	require.NoError(t, err)
	for _, args := range []string{``, `""`, `null`, `{}`, "  {}\n"} {
		canonical, err := r.Validate("now", json.RawMessage(args))
		require.NoError(t, err, args)
		require.Equal(t, `{}`, string(canonical))
		_, err = r.Call(t.Context(), "now", json.RawMessage(args))
		require.NoError(t, err, args)
	}
	require.Equal(t, 5, calls)
	_, err = r.Validate("now", json.RawMessage(`{"x":1}`))
	require.ErrorContains(t, err, "takes no arguments: give {}")
}

func TestRegistryRefusesBadTools(t *testing.T) {
	t.Parallel()
	var got []echoArgs
	bad := toolOf(t, "Bad Name", func(context.Context) (Result, error) { return Result{}, nil })
	_, err := NewRegistry(echoTool(t, "say", &got), echoTool(t, "say", &got), bad)
	require.ErrorContains(t, err, `tool "say" is registered twice`)
	require.ErrorContains(t, err, `tool name "Bad Name"`)
}

func TestOnlyNarrowsAndNamesTheNearest(t *testing.T) {
	t.Parallel()
	r := builtins(t, t.TempDir())
	only, err := r.Only("query_sqlite", "read_file")
	require.NoError(t, err)
	require.Equal(t, []string{"read_file", "query_sqlite"}, only.Names(), "the order of the registry")
	_, err = only.Call(t.Context(), "list_files", nil)
	require.ErrorContains(t, err, `there is no tool "list_files"`)
	_, err = r.Only("read_files", "nothing_like_it")
	require.ErrorContains(t, err, `did you mean "read_file"`)
	require.ErrorContains(t, err, `"nothing_like_it"`)
}

func TestCallLimitsTimeAndOutput(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry(
		toolOf(t, "long", func(context.Context) (Result, error) { return Result{Text: strings.Repeat("汉", 40)}, nil }),
		toolOf(t, "slow", func(ctx context.Context) (Result, error) { <-ctx.Done(); return Result{Text: "half"}, ctx.Err() }),
		toolOf(t, "broken", func(context.Context) (Result, error) { panic("index out of range") }),
		toolOf(t, "failing", func(context.Context) (Result, error) { return Result{}, errors.New("disk \x1b[2J full") }),
	)
	require.NoError(t, err)
	r = r.WithLimits(Limits{MaxOutputChars: 26, Timeout: 10 * time.Millisecond})

	result, err := r.Call(t.Context(), "long", nil)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("汉", 26)+"\n[42 more bytes left out]", result.Text)

	result, err = r.Call(t.Context(), "slow", nil)
	var problem *Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, KindTimeout, problem.Kind)
	require.Equal(t, "half", result.Text)

	_, err = r.Call(t.Context(), "broken", nil)
	require.ErrorAs(t, err, &problem)
	require.Equal(t, KindFailed, problem.Kind)
	require.ErrorContains(t, err, "index out of range")

	_, err = r.Call(t.Context(), "failing", nil)
	require.EqualError(t, err, "disk ␛[2J full")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Call(ctx, "slow", nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSpecsOfTheBuiltinTools(t *testing.T) {
	t.Parallel()
	essential := map[string]string{
		"list_files":            "pattern",
		"get_file_metadata":     "file_path",
		"read_file":             "file_path",
		"search_file":           "file_path query",
		"count_lines":           "path",
		"aggregate_log_errors":  "log_path",
		"search_log":            "log_path query",
		"get_log_window":        "log_path line_number",
		"describe_sqlite_table": "db_path",
		"query_sqlite":          "db_path query",
		"execute_shell_command": "command",
	}
	r := builtins(t, t.TempDir())
	require.Len(t, r.Specs(), len(essential))
	for _, spec := range r.Specs() {
		require.True(t, spec.ReadOnly, spec.Name)
		require.Equal(t, "built in", spec.Origin)
		require.NotEmpty(t, spec.Limits, spec.Name)
		require.True(t, strings.HasSuffix(spec.Description, "."), spec.Name)
		require.Equal(t, 1, strings.Count(spec.Description, ". ")+1, "one sentence: %s", spec.Description)
		schema := spec.Essential()
		require.Equal(t, essential[spec.Name], strings.Join(schema.PropertyOrder, " "), spec.Name)
		require.Len(t, schema.Properties, len(schema.PropertyOrder))
		require.NotNil(t, schema.AdditionalProperties, "closed")
		for name, property := range spec.Parameters.Properties {
			require.NotEmpty(t, property.Description, "%s.%s", spec.Name, name)
			switch property.Type {
			case "string":
				require.True(t, property.MaxLength != nil || property.Enum != nil, "%s.%s is not bounded", spec.Name, name)
			case "integer":
				require.NotNil(t, property.Minimum, "%s.%s", spec.Name, name)
				require.NotNil(t, property.Maximum, "%s.%s", spec.Name, name)
			case "boolean":
			default:
				t.Errorf("%s.%s has type %q", spec.Name, name, property.Type)
			}
		}
		resolved, err := spec.Parameters.CloneSchemas().Resolve(nil)
		require.NoError(t, err)
		require.Error(t, resolved.Validate(map[string]any{"no such argument": 1}))
	}
}

func TestFuncReportsBadStructs(t *testing.T) {
	t.Parallel()
	type unnamed struct {
		Count int `json:"count" arg:"least=1"`
	}
	_, err := Func(Spec{Name: "x"}, func(context.Context, unnamed) (Result, error) { return Result{}, nil })
	require.ErrorContains(t, err, `arg setting "least=1": unknown setting`)
	_, err = Func(Spec{Name: "x"}, func(context.Context, string) (Result, error) { return Result{}, nil })
	require.ErrorContains(t, err, "is not a struct")
}

func TestPathMustBeARequiredString(t *testing.T) {
	t.Parallel()
	type args struct {
		Where string `json:"where,omitempty"`
		Deep  int    `json:"deep" arg:"min=1,max=9"`
	}
	for _, path := range []string{"where", "deep", "nowhere"} {
		tool, err := Func(Spec{Name: "look", Description: "Looks.", Path: path}, func(context.Context, args) (Result, error) {
			return Result{}, nil
		})
		require.NoError(t, err)
		_, err = NewRegistry(tool)
		require.ErrorContains(t, err, "must be a required argument that is a string", path)
	}
}
