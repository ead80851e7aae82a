package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/tui"
)

type cliOptions struct {
	conversation             string
	fresh                    bool
	showThinking, noThinking bool
}

const cliHelp = `Talk in a full-screen interface. It opens the last conversation, unless tui.restore_last_conversation is off, and loads the model
behind what it shows. F1 lists the keys, /help the commands, which are those of chat; some open a list here: /resume, /model and /artifacts.

Ctrl-C stops the turn that is under way, which /resume goes on with; again, it leaves. Ctrl-Q and /quit leave. The exit code is 0, or 130
when a turn was stopped by leaving. Text can be selected with the mouse as elsewhere after F5; F4 selects an entry, which y copies.

The [tui] section of agent_config.toml has settings; NO_COLOR is respected. What would be printed otherwise goes to tui.log_file.`

func newCLI(s *session) *cobra.Command {
	var o cliOptions
	cmd := &cobra.Command{
		Use:     "cli",
		Short:   "Talk in a full-screen interface",
		Long:    cliHelp,
		Example: "  llama-agent cli\n  llama-agent cli --new -C examples/workspace",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.cli(cmd, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.conversation, "conversation-id", "", "`ID` of the conversation (default: the last one)")
	flags.BoolVar(&o.fresh, "new", false, "begin a conversation, with the ID if one is given")
	flags.BoolVar(&o.showThinking, "show-thinking", false, "show what the model thinks")
	flags.BoolVar(&o.noThinking, "no-show-thinking", false, "do not show it")
	complete(cmd, "conversation-id", s.completeConversation)
	return cmd
}

func (s *session) cli(cmd *cobra.Command, o cliOptions) (err error) {
	switch {
	case cmd.Flags().Changed("conversation-id") && o.conversation == "":
		return usagef("--conversation-id is empty; give an ID as listed by list-conversations")
	case o.showThinking && o.noThinking:
		return usagef("--show-thinking and --no-show-thinking contradict each other")
	case s.console.json:
		return usagef("--json has no meaning for a full-screen interface; use chat --json")
	case !s.fullScreen():
		return errors.New("cli needs a terminal at stdin and stdout; use chat, which works in a pipe")
	}
	for flag, value := range map[string]bool{"show-thinking": true, "no-show-thinking": false} {
		if cmd.Flags().Changed(flag) {
			s.overrides = append(s.overrides, config.Override{Section: "tui", Key: "show_thinking", Value: strconv.FormatBool(value), Flag: "--" + flag})
		}
	}
	c, err := s.read()
	if err != nil {
		return err
	}
	log, notices := s.fileLogger(c)
	defer log.Close()
	ui := tui.New(tui.Options{
		Settings: tui.Settings{
			Sidebar: c.TUI.ShowSidebar, Thinking: c.TUI.ShowThinking,
			ThoughtChars: c.TUI.ThinkingMaxChars, PreviewChars: c.TUI.ToolResultPreviewChars, Mouse: true,
		},
		Theme: theme(c, s.environ), Refresh: c.TUI.RefreshInterval, Now: s.now, Logger: log.Logger, Notices: notices,
		Stopping: func() { s.console.say("stopping the turn; Ctrl-C twice ends the program at once") },
	})
	chat, err := app.OpenChat(cmd.Context(), app.ChatOptions{
		Options: app.Options{
			Config: c, OpenModel: s.openModel, Logger: log.Logger, Loading: ui.Loading, Prefill: ui.Prefill, Thinking: ui.Thinking,
		},
		Conversation: o.conversation, New: o.fresh || !c.TUI.RestoreLastConversation && o.conversation == "", WithModel: s.withModel,
	})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := chat.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("closing the agent: %w", closeErr))
		}
	}()
	err = ui.Run(cmd.Context(), chat)
	return s.farewell(cmd, chat, err)
}

// fullScreen reports whether a person sits at a terminal that can be drawn on.
func (s *session) fullScreen() bool {
	in, ok := s.stdin.(*os.File)
	return ok && s.console.outTerminal && term.IsTerminal(int(in.Fd()))
}

// farewell tells how to go on, once the terminal is as it was.
func (s *session) farewell(cmd *cobra.Command, chat *app.Chat, err error) error {
	id, _, idErr := chat.Conversation(context.WithoutCancel(cmd.Context()))
	if idErr == nil && id != "" {
		s.console.note("conversation %s", id)
	}
	if errors.Is(err, tui.ErrInterrupted) {
		return &exitError{exitInterrupted, err}
	}
	return err
}

// fileLog is the log of the interface, which owns the terminal meanwhile.
type fileLog struct {
	*slog.Logger
	io.Closer
}

// fileLogger opens the log file. Without one there is a notice, and no log.
func (s *session) fileLogger(c *config.Config) (log fileLog, notices []string) {
	notices = c.Notices
	discarded := fileLog{slog.New(slog.DiscardHandler), io.NopCloser(nil)}
	if c.TUI.LogFile == "" {
		return discarded, notices
	}
	f, err := app.OpenLog(c.TUI.LogFile)
	if err != nil {
		return discarded, append(notices[:len(notices):len(notices)], "there is no log: "+err.Error())
	}
	handler := slog.NewTextHandler(f, &slog.HandlerOptions{Level: logLevel(c)})
	return fileLog{slog.New(handler), f}, notices
}

// theme chooses colours. Where nothing is known of the background, those of the terminal's own palette suit it.
func theme(c *config.Config, environ []string) tui.Theme {
	if !config.Color(environ) {
		return tui.ThemePlain
	}
	switch c.TUI.Theme {
	case "light":
		return tui.ThemeLight
	case "dark":
		return tui.ThemeDark
	}
	switch config.Background(environ) {
	case config.BackgroundLight:
		return tui.ThemeLight
	case config.BackgroundDark:
		return tui.ThemeDark
	}
	return tui.ThemeTerminal
}
