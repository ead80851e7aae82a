package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeConfig puts text into the configuration file of a new folder.
func writeConfig(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600))
	return dir
}

func defaults(t *testing.T) *Config {
	t.Helper()
	c, err := Load(Options{Dir: t.TempDir(), UserConfigDir: t.TempDir()})
	require.NoError(t, err)
	return c
}

func value(t *testing.T, c *Config, id string) Value {
	t.Helper()
	for _, v := range c.Values() {
		if v.Section+"."+v.Key == id {
			return v
		}
	}
	t.Fatalf("no value %s", id)
	return Value{}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	require.Equal(t, 6, c.Agent.MaxIterations)
	require.Equal(t, filepath.Join(c.Workspace, "data/checkpoints.sqlite"), c.Agent.DBPath)
	require.Empty(t, c.Engine.ModelPath)
	require.Equal(t, int64(4<<30), c.Engine.KVStoreMaxBytes)
	require.Equal(t, int64(-1), c.Engine.Seed)
	require.Equal(t, 30*time.Second, c.Tools.Timeout)
	require.Equal(t, []string{c.Workspace}, c.Tools.File.AllowedRoots)
	require.Equal(t, 200*time.Millisecond, c.Telemetry.SampleInterval)
	require.Nil(t, c.Engine.Nodes.Planner.MaxTokens)
	require.False(t, c.Memory.ArtifactVirtualization)
	require.Empty(t, c.Notices)
	for _, v := range c.Values() {
		require.Equal(t, LayerDefault, v.Source.Layer, v.Key)
		require.NotEmpty(t, v.Doc, v.Key)
	}
}

func TestDefaultsArePermitted(t *testing.T) {
	t.Parallel()
	for _, k := range keys {
		if k.text == "" {
			continue
		}
		dir := writeConfig(t, "["+k.section+"]\n"+k.name+" = "+k.text+"\n")
		c, err := Load(Options{Dir: dir, UserConfigDir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, k.text, c.written[k], k.id())
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	ids, envs := map[string]bool{}, map[string]bool{}
	for _, k := range keys {
		require.False(t, ids[k.id()], k.id())
		require.False(t, envs[k.env()], k.env())
		ids[k.id()], envs[k.env()] = true, true
	}
	for section := range sectionDocs {
		require.True(t, isSection(section), section)
	}
	for _, name := range []string{
		"AGENT_MAX_ITERATIONS", "AGENT_N_CTX", "AGENT_MEMORY_ARTIFACT_VIRTUALIZATION", "AGENT_TUI_THEME",
		"AGENT_TELEMETRY_ENABLED", "AGENT_TOOLS_TIMEOUT_SECONDS", "AGENT_TOOLS_SHELL_ALLOWED_COMMANDS", "AGENT_NODES_PLANNER_TEMPERATURE",
	} {
		require.True(t, envs[name], name)
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	dir := writeConfig(t, `
[agent]
max_iterations = 7
max_tool_calls = 8
max_plan_steps = 3
[engine]
temperature = 1
flash_attention = true
nodes.executor = { max_tokens = 99 }
[engine.nodes.planner]
temperature = 0
[tools.shell]
timeout_seconds = 2.5
`)
	c, err := Load(Options{
		Dir: dir, UserConfigDir: t.TempDir(),
		Environ:   []string{"AGENT_MAX_TOOL_CALLS=9", "AGENT_MAX_PLAN_STEPS=4", "AGENT_STOP=a, b", "AGENT_SEED=", "OTHER=1"},
		Overrides: []Override{{Section: "agent", Key: "max_plan_steps", Value: "5", Flag: "--max-plan-steps"}},
	})
	require.NoError(t, err)
	require.Equal(t, 7, c.Agent.MaxIterations)
	require.Equal(t, 9, c.Agent.MaxToolCalls)
	require.Equal(t, 5, c.Agent.MaxPlanSteps)
	require.Equal(t, []string{"a", "b"}, c.Engine.Stop)
	require.Equal(t, "on", c.Engine.FlashAttention)
	require.Equal(t, 2500*time.Millisecond, c.Tools.Shell.Timeout)
	require.Equal(t, 0.0, *c.Engine.Nodes.Planner.Temperature)
	require.Equal(t, 99, *c.Engine.Nodes.Executor.MaxTokens)
	require.Nil(t, c.Engine.Nodes.Executor.Temperature)

	for id, want := range map[string]string{
		"agent.max_iterations":             "agent_config.toml:3",
		"agent.max_tool_calls":             "AGENT_MAX_TOOL_CALLS",
		"agent.max_plan_steps":             "--max-plan-steps",
		"engine.seed":                      "default",
		"engine.nodes.executor.max_tokens": "agent_config.toml:9",
	} {
		require.Equal(t, want, value(t, c, id).Source.String(), id)
	}
	require.Equal(t, "1.0", value(t, c, "engine.temperature").Text)
	require.Equal(t, 2.5, value(t, c, "tools.shell.timeout_seconds").Value)
	require.Nil(t, value(t, c, "engine.nodes.reflector.max_tokens").Value)
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		environ    []string
		set        []string
		want       []string // all problems, in order
	}{
		{name: "misspelt key", file: "[agent]\n\nmax_iteration = 3", want: []string{`agent_config.toml:3: unknown key "max_iteration" in [agent]; did you mean max_iterations?`}},
		{name: "misspelt section", file: "[agnet]\nx = 1\ny = 2", want: []string{"agent_config.toml:1: there is no section [agnet]; did you mean agent?"}},
		{name: "key of another section", file: "[agent]\nn_ctx = 3", want: []string{`agent_config.toml:2: unknown key "n_ctx" in [agent]; it belongs in [engine]`}},
		{name: "key without section", file: "n_ctx = 3", want: []string{`agent_config.toml:1: key "n_ctx" must stand under [engine]`}},
		{name: "misspelt key of another section", file: "[agent]\nmodel_pth = 'x'", want: []string{`agent_config.toml:2: unknown key "model_pth" in [agent]; did you mean engine.model_path?`}},
		{name: "dotted key in a misspelt section", file: "[tools]\nshel.timeout_seconds = 1", want: []string{`agent_config.toml:2: there is no section [tools.shel]; key "timeout_seconds" belongs in [tools] or [tools.shell] or [tools.file] or [tools.log] or [tools.sqlite] or [tools.skills]`}},
		{name: "unknown node", file: "[engine.nodes.planer]\ntemperature = 1", want: []string{"agent_config.toml:1: there is no section [engine.nodes.planer]; did you mean engine.nodes.planner?"}},
		{name: "section of sections", file: "[engine.nodes]\ntemperature = 1", want: []string{"agent_config.toml:2: [engine.nodes] holds sections only, such as [engine.nodes.planner]"}},
		{name: "value for a section", file: "agent = 5", want: []string{"agent_config.toml:1: agent is a section, not a value; write [agent] and its keys below"}},
		{name: "array of tables", file: "[[agent]]\nmax_iterations = 1", want: []string{"agent_config.toml:1: [[agent]] makes a list; write [agent]"}},
		{name: "wrong types", file: "[agent]\nmax_iterations = \"6\"\ndb_path = 1\n[engine]\nverbose = 1\ntemperature = \"a\"\nstop = \"a\"\nlora = [1]\nkv_store_max_bytes = true", want: []string{
			`agent_config.toml:2: agent.max_iterations = "6": must be a whole number without quotes, 1 to 50`,
			`agent_config.toml:3: agent.db_path = 1: must be text in quotes`,
			`agent_config.toml:5: engine.verbose = 1: must be true or false, without quotes`,
			`agent_config.toml:6: engine.temperature = "a": must be a number without quotes, 0 to 5`,
			`agent_config.toml:7: engine.stop = "a": must be a list such as ["a", "b"]`,
			`agent_config.toml:8: engine.lora = [list of 1]: item 1 must be text in quotes`,
			`agent_config.toml:9: engine.kv_store_max_bytes = true: must be bytes, or a size such as "512MiB"`,
		}},
		{name: "ranges", file: "[agent]\nmax_iterations = 51\n[engine]\nn_ctx = 100\n[memory]\ncontext_trigger_ratio = 0\n[telemetry]\nsample_interval_ms = 9\n[tui]\nrefresh_interval_ms = 99", want: []string{
			"agent_config.toml:2: agent.max_iterations = 51: must be 1 to 50",
			"agent_config.toml:4: engine.n_ctx = 100: must be 256 to 1048576, or 0",
			"agent_config.toml:6: memory.context_trigger_ratio = 0: must be above 0, at most 1",
			"agent_config.toml:8: telemetry.sample_interval_ms = 9: must be 10 to 3600000 milliseconds",
			"agent_config.toml:10: tui.refresh_interval_ms = 99: must be 100 to 60000 milliseconds",
		}},
		{name: "enum", file: "[agent]\ndurability = \"synch\"", want: []string{`agent_config.toml:2: agent.durability = "synch": must be one of sync, async, exit; did you mean sync?`}},
		{name: "R2 without R1", file: "[memory]\nlifecycle_context = true", want: []string{"agent_config.toml:2: memory.lifecycle_context = true needs memory.artifact_virtualization = true"}},
		{name: "not TOML", file: "[agent]\nmax_iterations 3", want: []string{"agent_config.toml:2: not valid TOML: expected '=' after key"}},
		{name: "key twice", file: "[agent]\nmax_iterations = 3\nmax_iterations = 4", want: []string{"agent_config.toml:3: not valid TOML: key max_iterations is already defined"}},
		{name: "UTF-16", file: "\xff\xfe[\x00a\x00]\x00", want: []string{"agent_config.toml: the file is UTF-16 text; save it as UTF-8"}},
		{name: "UTF-16 without mark", file: "[\x00a\x00]\x00", want: []string{"agent_config.toml: the file is UTF-16 text; save it as UTF-8"}},
		{name: "Latin-1", file: "[agent]\n# gr\xfc\xdfe", want: []string{"agent_config.toml:2: this line is not UTF-8 text; save the file as UTF-8"}},
		{name: "control characters", file: "[\"\x1b]0;x\\u0007\"]", want: []string{"agent_config.toml:1: not valid TOML: basic strings cannot have control characters"}},
		{name: "escaped control characters", file: `["\u001b]0;x\u0007"]`, want: []string{"agent_config.toml:1: there is no section [\uFFFD]0;x\uFFFD]"}},
		{name: "all layers at once", file: "[agent]\nfoo_bar = 3\nmax_iterations = 0",
			environ: []string{"AGENT_VERBOSE=maybe", "AGENT_N_CTX=many"},
			set:     []string{"engine.tempratur=1", "nothing.here=2", "engine.seed=x"},
			want: []string{
				`agent_config.toml:2: unknown key "foo_bar" in [agent]`,
				`agent_config.toml:3: agent.max_iterations = 0: must be 1 to 50`,
				`AGENT_N_CTX: engine.n_ctx = "many": must be a whole number, 256 to 1048576, or 0`,
				`AGENT_VERBOSE: engine.verbose = "maybe": must be true or false (1/0, yes/no and on/off are accepted)`,
				`--set engine.tempratur: unknown key "tempratur" in [engine]; did you mean temperature?`,
				`--set nothing.here: there is no section [nothing]`,
				`--set engine.seed: engine.seed = "x": must be a whole number, -1 to 4294967295`,
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			opts := Options{Dir: writeConfig(t, test.file), UserConfigDir: t.TempDir(), Environ: test.environ}
			for _, arg := range test.set {
				o, err := ParseOverride(arg)
				require.NoError(t, err)
				opts.Overrides = append(opts.Overrides, o)
			}
			_, err := Load(opts)
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.Equal(t, strings.Join(test.want, "\n"), problems.Error())
			var one *Problem
			require.ErrorAs(t, err, &one)
		})
	}
}

func TestEncodingsOfTheSameFile(t *testing.T) {
	t.Parallel()
	const text = "[agent]\nmax_iterations = 7\nlog_level = \"debug\"\n"
	for name, file := range map[string]string{
		"plain":           text,
		"byte order mark": "\xef\xbb\xbf" + text,
		"CRLF":            strings.ReplaceAll(text, "\n", "\r\n"),
		"mark and CRLF":   "\xef\xbb\xbf" + strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Load(Options{Dir: writeConfig(t, file), UserConfigDir: t.TempDir()})
			require.NoError(t, err)
			require.Equal(t, 7, c.Agent.MaxIterations)
			require.Equal(t, "debug", c.Agent.LogLevel)
			require.Equal(t, "agent_config.toml:2", value(t, c, "agent.max_iterations").Source.String())
		})
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{Dir: writeConfig(t, " \n"), UserConfigDir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, []string{"agent_config.toml: the file is empty, so every value is the default"}, c.Notices)

	c, err = Load(Options{
		Dir: writeConfig(t, "[engine]\nchat_format = \"chatml\"\n"), UserConfigDir: t.TempDir(),
		Environ: []string{"AGENT_MAX_ITERATION=3", "AGENT_NAME=pipeline", "AGENT_TOOLSDIRECTORY=/opt"},
	})
	require.NoError(t, err)
	require.Len(t, c.Notices, 2)
	require.Contains(t, c.Notices[0], "agent_config.toml:2: chat_format")
	require.Equal(t, "AGENT_MAX_ITERATION: unknown variable, ignored; did you mean AGENT_MAX_ITERATIONS?", c.Notices[1])
}

func TestFileIsSearchedInOrder(t *testing.T) {
	t.Parallel()
	user, current := t.TempDir(), t.TempDir()
	userFile := filepath.Join(user, "llama-agent", FileName)
	require.NoError(t, os.MkdirAll(filepath.Dir(userFile), 0o700))
	require.NoError(t, os.WriteFile(userFile, []byte("[agent]\nmax_iterations = 2\n"), 0o600))

	c, err := Load(Options{Dir: current, UserConfigDir: user})
	require.NoError(t, err)
	require.Equal(t, 2, c.Agent.MaxIterations)
	require.Equal(t, userFile, c.File)

	require.NoError(t, os.WriteFile(filepath.Join(current, FileName), []byte("[agent]\nmax_iterations = 3\n"), 0o600))
	c, err = Load(Options{Dir: current, UserConfigDir: user})
	require.NoError(t, err)
	require.Equal(t, 3, c.Agent.MaxIterations)

	require.NoError(t, os.WriteFile(filepath.Join(current, "other.toml"), []byte("[agent]\nmax_iterations = 4\n"), 0o600))
	c, err = Load(Options{Dir: current, UserConfigDir: user, Path: "other.toml"})
	require.NoError(t, err)
	require.Equal(t, 4, c.Agent.MaxIterations)

	_, err = Load(Options{Dir: current, UserConfigDir: user, Path: "missing.toml"})
	require.ErrorContains(t, err, `--config: configuration file "`+filepath.Join(current, "missing.toml")+`" does not exist`)

	_, err = Load(Options{Dir: current, UserConfigDir: user, Path: "."})
	require.ErrorContains(t, err, "not a regular file")
}

func TestAFileThatCannotBeReadIsNoDefault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, FileName), 0o700))
	_, err := Load(Options{Dir: dir, UserConfigDir: t.TempDir()})
	require.ErrorContains(t, err, "not a regular file")
}

func TestWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "ws"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))

	c, err := Load(Options{Dir: dir, UserConfigDir: dir, Workspace: "ws"})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "ws"), c.Workspace)
	require.Equal(t, filepath.Join(dir, "ws", "data/kv"), c.Engine.KVStorePath)

	_, err = Load(Options{Dir: dir, UserConfigDir: dir, Workspace: "nowhere"})
	require.ErrorContains(t, err, "does not exist")
	_, err = Load(Options{Dir: dir, UserConfigDir: dir, Workspace: "file"})
	require.ErrorContains(t, err, "is a file, not a folder")
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := writeConfig(t, "[engine]\nmodel_path = \"models/m.gguf\"\nchat_template = \"ws-only.jinja\"\nlora = [\"/abs/a.gguf\", \"~/b.gguf=0.5\", \"models/m.gguf=-1\"]\n[agent]\ndb_path = \"x.sqlite\"\n")
	ws := filepath.Join(dir, "ws")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "models"), 0o700))
	require.NoError(t, os.MkdirAll(ws, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "models/m.gguf"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(ws, "ws-only.jinja"), nil, 0o600))

	load := func(overrides ...Override) *Config {
		c, err := Load(Options{Dir: dir, UserConfigDir: dir, Workspace: "ws", Environ: []string{"HOME=/home/u"}, Overrides: overrides})
		require.NoError(t, err)
		return c
	}
	c := load()
	require.Equal(t, filepath.Join(dir, "models/m.gguf"), c.Engine.ModelPath, "beside the configuration file")
	require.Equal(t, filepath.Join(ws, "ws-only.jinja"), c.Engine.ChatTemplate, "only in the workspace")
	require.Equal(t, []Adapter{{"/abs/a.gguf", 1}, {"/home/u/b.gguf", 0.5}, {filepath.Join(dir, "models/m.gguf"), -1}}, c.Engine.LoRA)
	require.Equal(t, `["/abs/a.gguf", "~/b.gguf=0.5", "models/m.gguf=-1"]`, value(t, c, "engine.lora").Text, "shown as written")
	require.Equal(t, filepath.Join(ws, "x.sqlite"), c.Agent.DBPath, "stores belong to the workspace")
	require.Equal(t, `"models/m.gguf"`, value(t, c, "engine.model_path").Text, "shown as written")

	flag := Override{Section: "engine", Key: "model_path", Value: "nowhere.gguf", Flag: "--model-path"}
	require.Equal(t, filepath.Join(dir, "nowhere.gguf"), load(flag).Engine.ModelPath, "a missing file is missed where it was typed")
	require.Equal(t, "", c.Path(""))
	require.Equal(t, "/x", c.Path("/x/"))
}

func TestParseOverride(t *testing.T) {
	t.Parallel()
	o, err := ParseOverride("engine.nodes.planner.temperature=0=1")
	require.NoError(t, err)
	require.Equal(t, Override{"engine.nodes.planner", "temperature", "0=1", "--set engine.nodes.planner.temperature"}, o)
	for _, bad := range []string{"", "x", "x=1", ".x=1", "a.=1", "engine.seed"} {
		_, err := ParseOverride(bad)
		require.ErrorContains(t, err, "section.key=value", bad)
	}
}

func TestTextValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ id, text, want string }{
		{"engine.verbose", "On", "true"},
		{"engine.verbose", "no", "false"},
		{"engine.kv_store_max_bytes", "0", "0"},
		{"engine.kv_store_max_bytes", "1.5 GiB", `"1536MiB"`},
		{"engine.kv_store_max_bytes", "10kb", "10000"},
		{"engine.stop", `["a,b", "c"]`, `["a,b", "c"]`},
		{"engine.stop", "", "[]"},
		{"engine.flash_attention", "0", `"off"`},
		{"agent.log_level", "WARN", `"warn"`},
		{"telemetry.sample_interval_ms", "12.5", "12.5"},
		{"engine.temperature", "1e-3", "0.001"},
		{"engine.nodes.planner.max_tokens", "12", "12"},
	} {
		o, err := ParseOverride(test.id + "=" + test.text)
		require.NoError(t, err)
		c, err := Load(Options{Dir: t.TempDir(), UserConfigDir: t.TempDir(), Overrides: []Override{o}})
		require.NoError(t, err, test.id)
		require.Equal(t, test.want, value(t, c, test.id).Text, test.id)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	load := func(set ...string) *Config {
		var overrides []Override
		for _, s := range set {
			o, err := ParseOverride(s)
			require.NoError(t, err)
			overrides = append(overrides, o)
		}
		dir := t.TempDir()
		c, err := Load(Options{Dir: dir, UserConfigDir: dir, Overrides: append(overrides, Override{Section: "tools.file", Key: "allowed_roots", Value: "/x"},
			Override{Section: "tools.log", Key: "allowed_roots", Value: "/x"}, Override{Section: "tools.sqlite", Key: "allowed_roots", Value: "/x"},
			Override{Section: "tools.skills", Key: "dirs", Value: "/x"})})
		require.NoError(t, err)
		return c
	}
	base := load()
	require.Equal(t, base.Fingerprint(), load("agent.log_level=debug", "engine.n_threads=3", "agent.db_path=x").Fingerprint())
	hot := load("engine.temperature=1", "engine.nodes.planner.max_tokens=5")
	require.NotEqual(t, base.Fingerprint(), hot.Fingerprint())
	require.Equal(t, []Change{{"engine.temperature", "0.2", "1.0"}, {"engine.nodes.planner.max_tokens", "", "5"}}, base.Settings().Diff(hot.Settings()))

	old := base.Settings()
	old["engine.gone"] = "1"
	require.Equal(t, []Change{{"engine.gone", "1", ""}}, old.Diff(base.Settings()))
}

func TestColor(t *testing.T) {
	t.Parallel()
	require.True(t, Color([]string{"TERM=xterm", "NO_COLOR="}))
	require.False(t, Color([]string{"NO_COLOR=1"}))
	require.False(t, Color([]string{"TERM=dumb"}))
}

func TestBackground(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]Backdrop{
		"": BackgroundUnknown, "15;0": BackgroundDark, "0;15": BackgroundLight, "0;default;7": BackgroundLight, "15;8": BackgroundDark,
		"0;default": BackgroundUnknown, "0;99": BackgroundUnknown, "15": BackgroundUnknown,
	} {
		require.Equal(t, want, Background([]string{"COLORFGBG=" + value}), value)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "resume", Nearest("resmue", []string{"run", "resume"}))
	require.Empty(t, Nearest("xyz", []string{"run", "resume"}))
	require.Empty(t, Nearest("", nil))
}

func FuzzLoad(f *testing.F) {
	shipped, err := os.ReadFile(shippedFile)
	require.NoError(f, err)
	f.Add(shipped)
	f.Add([]byte("\xef\xbb\xbf[agent]\r\nmax_iterations = 3\r\n"))
	f.Add([]byte("engine = { nodes.planner = { temperature = 1 }, \"n_ctx\" = 0x200 }\n[[x]]\ny = [{a=1}]"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte("\"\\u0041\".b = 1979-05-27\n[tools.shell]\nallowed_commands = ['''a\n''']"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &loader{dir: dir, config: &Config{Workspace: dir, sources: map[*key]Source{}, written: map[*key]string{}}}
		l.defaults()
		l.apply(filepath.Join(dir, FileName), data)
		l.paths()
		l.relations()
		for _, p := range l.problems {
			if msg := p.Error(); strings.ContainsAny(msg, "\n\r\x1b\x00") || msg == "" {
				t.Fatalf("message %q is not one clean line", msg)
			}
		}
		// What was accepted is written back and accepted again with the same result.
		if len(l.problems) > 0 {
			return
		}
		set := map[string]string{}
		for _, k := range keys {
			if text := l.config.written[k]; text != "" {
				set[k.id()] = text
			}
		}
		again := &loader{dir: dir, config: &Config{Workspace: dir, sources: map[*key]Source{}, written: map[*key]string{}}}
		again.defaults()
		again.apply(filepath.Join(dir, FileName), []byte(Reference(set)))
		again.paths()
		require.Empty(t, again.problems)
		for _, k := range keys {
			require.Equal(t, l.config.written[k], again.config.written[k], k.id())
		}
		require.True(t, slices.Equal(l.config.Engine.Stop, again.config.Engine.Stop))
	})
}
