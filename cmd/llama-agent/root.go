package main

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// session is what the commands of one execution share: the global flags, the console, and the configuration once it is
// loaded.
type session struct {
	*program
	console    *console
	interrupts *interruption

	configPath, workspace string
	set                   []string
	overrides             []config.Override // of the flags that stand for one key
}

// keyFlags are global flags that override one value each.
var keyFlags = []struct{ flag, section, key, kind, doc string }{
	{"model-path", "engine", "model_path", "PATH", "model file (GGUF)"},
	{"n-ctx", "engine", "n_ctx", "N", "context size in tokens"},
	{"n-gpu-layers", "engine", "n_gpu_layers", "N", "layers on the GPU, -1 for all"},
	{"threads", "engine", "n_threads", "N", "threads, 0 for the physical cores"},
	{"seed", "engine", "seed", "N", "seed of sampling, -1 for another one each time"},
	{"db-path", "agent", "db_path", "PATH", "database of tasks"},
	{"log-level", "agent", "log_level", "LEVEL", "debug, info, warn or error"},
}

const rootHelp = `llama-agent does tasks with a language model on this machine.

  llama-agent run "Which orders in shop.db are not paid?"
  llama-agent resume

Start with "llama-agent doctor", which checks the model, memory and stores.`

func newRoot(p *program, c *console, i *interruption) *cobra.Command {
	s := &session{program: p, console: c, interrupts: i}
	root := &cobra.Command{
		Use:   "llama-agent",
		Short: "Does tasks with a language model on this machine",
		Long:  rootHelp,
		// Also reached with the name of a command that does not exist.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if c.quiet && c.verbose {
				return usagef("--quiet and --verbose contradict each other")
			}
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
		CompletionOptions: cobra.CompletionOptions{
			DisableDefaultCmd: true,
		},
	}
	root.SetArgs(p.args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	cobra.EnableCommandSorting = false

	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVar(&s.configPath, "config", "", "configuration file `PATH`")
	flags.StringVarP(&s.workspace, "workspace", "C", "", "folder `DIR` that the tools may work in (default: current folder)")
	for _, k := range keyFlags {
		flags.Var(&keyFlag{s: s, flag: k.flag, section: k.section, key: k.key, kind: k.kind}, k.flag, k.doc)
	}
	flags.StringArrayVar(&s.set, "set", nil, "override any value of the configuration, `section.key=value` (repeatable)")
	flags.BoolVar(&c.json, "json", false, "print one JSON object")
	flags.BoolVar(&c.quiet, "quiet", false, "print the result only, no progress")
	flags.BoolVar(&c.verbose, "verbose", false, "print more about what happens")

	for _, cmd := range []*cobra.Command{
		newRun(s), newResume(s), newContinue(s), newChat(s), newCLI(s), newListConversations(s), newListThreads(s), newHistory(s),
		newCopyThread(s), newDeleteThread(s), newDeleteConversation(s), newArtifacts(s), newMemory(s), newTools(s), newSkills(s),
		newModels(s), newBenchmark(s), newAblation(s), newGraph(s), newShowConfig(s), newDoctor(s), newVersion(s), newCompletion(s),
	} {
		cmd.Flags().SortFlags = false
		root.AddCommand(cmd)
	}
	return root
}

// newHelp is "help COMMAND", for those who are used to it; --help is what the texts mention.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Print what a command does",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, _, err := cmd.Root().Find(args)
			if err != nil || len(args) > 0 && target == cmd.Root() {
				return unknownCommand(cmd.Root(), args[0])
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

// load builds the configuration from all layers and tells its notices.
func (s *session) load() (*config.Config, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	for _, n := range c.Notices {
		s.console.note("note: %s", n)
	}
	return c, nil
}

// read builds the configuration from all layers and tells nothing.
func (s *session) read() (*config.Config, error) {
	overrides := make([]config.Override, 0, len(s.set)+len(s.overrides))
	for _, arg := range s.set {
		o, err := config.ParseOverride(arg)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		overrides = append(overrides, o)
	}
	return config.Load(config.Options{
		Path: s.configPath, Workspace: s.workspace, Environ: s.environ, Overrides: append(overrides, s.overrides...),
	})
}

// logger returns the log of the program, as lines on stderr. Progress is told by the commands themselves, so that
// without --verbose only warnings and errors remain.
func (s *session) logger(c *config.Config) *slog.Logger {
	level := logLevel(c)
	if !s.console.verbose && !c.Engine.Verbose {
		level = max(level, slog.LevelWarn)
	}
	if s.console.quiet {
		level = slog.LevelError
	}
	return slog.New(slog.NewTextHandler(logLines{s.console}, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{} // a terminal session needs no clock in front of each line
			}
			return a
		},
	}))
}

func logLevel(c *config.Config) slog.Level {
	return map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[c.Agent.LogLevel]
}

// logLines passes the lines of a log handler to the console, which keeps them apart from the status line.
type logLines struct{ console *console }

func (l logLines) Write(line []byte) (int, error) {
	l.console.say("%s", strings.TrimRight(string(line), "\n"))
	return len(line), nil
}

// keyFlag is a flag that overrides one value of the configuration, which also checks it.
type keyFlag struct {
	s                        *session
	flag, section, key, kind string
	value                    string
}

func (f *keyFlag) String() string { return f.value }
func (f *keyFlag) Type() string   { return f.kind }

func (f *keyFlag) Set(value string) error {
	f.value = value
	f.s.overrides = append(f.s.overrides, config.Override{Section: f.section, Key: f.key, Value: value, Flag: "--" + f.flag})
	return nil
}

// flagError turns an error of the flag parser into one line that names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return &exitError{exitUsage, err}
	}
	name := unknown.GetSpecifiedName()
	if len(name) == 1 || unknown.GetSpecifiedShortnames() != "" {
		return usagef("unknown flag -%s", name)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := config.Nearest(name, names); near != "" {
		return usagef("unknown flag --%s; did you mean --%s?", name, near)
	}
	return usagef("unknown flag --%s", name)
}

func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	if near := config.Nearest(name, names); near != "" {
		return usagef("unknown command %s; did you mean %s?", strconv.Quote(app.Inert(name)), near)
	}
	return usagef("unknown command %s", strconv.Quote(app.Inert(name)))
}

// arguments checks the number of arguments of a command, from least to most; -1 is no limit.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s is missing", what)
		case most == 0 && len(args) > 0:
			return usagef("unexpected argument %s", strconv.Quote(args[0]))
		case most > 0 && len(args) > most:
			return usagef("unexpected argument %s after %s", strconv.Quote(args[most]), what)
		}
		return nil
	}
}
