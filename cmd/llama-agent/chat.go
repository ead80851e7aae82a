package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// maxAhead bounds the lines that are kept for later while a turn is under way on a terminal.
const maxAhead = 100

type chatOptions struct {
	conversation string
	fresh        bool
}

const chatHelp = `Talk line by line: each line of stdin is a turn of one conversation, the last one unless --new or --conversation-id says
otherwise. A line that ends with a backslash goes on in the next one. Lines that begin with a slash are commands, such as
/help, which lists them; // begins a text with a slash. The model is loaded at the first question and kept.

stdout carries the answers only, each ended by a line end; with --json it is one object a line for each turn, as of run.
All else, also what commands show, goes to stderr.

Ctrl-C stops the turn that is under way, which /resume goes on with. Ctrl-C at the prompt, or again while a turn stops, leaves
with exit code 130. The end of the input leaves with 0 on a terminal. From a file or pipe, lines that cannot be done do not keep
those that follow from being done; the exit code is that of the first of them: 1 error, 2 unknown command, 3 nothing to resume,
5 the turn failed. A model that cannot be loaded ends it at once with 4.`

func newChat(s *session) *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use:     "chat",
		Short:   "Talk line by line; works in a pipe",
		Long:    chatHelp,
		Example: "  llama-agent chat\n  llama-agent chat --new < questions.txt > answers.txt",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.chat(cmd, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.conversation, "conversation-id", "", "`ID` of the conversation (default: the last one)")
	flags.BoolVar(&o.fresh, "new", false, "begin a conversation, with the ID if one is given")
	complete(cmd, "conversation-id", s.completeConversation)
	return cmd
}

func (s *session) chat(cmd *cobra.Command, o chatOptions) (err error) {
	if cmd.Flags().Changed("conversation-id") && o.conversation == "" {
		return usagef("--conversation-id is empty; give an ID as listed by list-conversations")
	}
	c, err := s.load()
	if err != nil {
		return err
	}
	p := &progress{console: s.console} // its loading and prefill know nothing of turns
	chat, err := app.OpenChat(cmd.Context(), app.ChatOptions{
		Options:      app.Options{Config: c, OpenModel: s.openModel, Logger: s.logger(c), Loading: p.loading, Prefill: p.prefill},
		Conversation: o.conversation, New: o.fresh, WithModel: s.withModel,
	})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := chat.Close(); closeErr != nil { // an error that stands alone keeps its exit code and its words
			err = errors.Join(err, fmt.Errorf("closing the agent: %w", closeErr))
		}
	}()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	l := &lineChat{
		session: s, cmd: cmd, chat: chat, lines: readLines(ctx, s.stdin, maxGoalBytes),
		entry: entryBuilder{limit: maxGoalBytes}, interactive: s.interactive(),
	}
	return l.run(ctx)
}

// withModel reads the configuration with another model file. Its notices were told at the start.
func (s *session) withModel(path string) (*config.Config, error) {
	before := s.overrides
	defer func() { s.overrides = before }()
	s.overrides = append(before[:len(before):len(before)], config.Override{Section: "engine", Key: "model_path", Value: path, Flag: "/model"})
	return s.read()
}

// interactive reports whether a person types at a terminal that can be asked.
func (s *session) interactive() bool {
	in, ok := s.stdin.(*os.File)
	return ok && s.console.errTerminal && term.IsTerminal(int(in.Fd()))
}

// lineChat is the front end of a conversation that reads lines. One goroutine uses it.
type lineChat struct {
	*session
	cmd         *cobra.Command
	chat        *app.Chat
	interactive bool

	lines <-chan inputLine
	ahead []inputLine // typed while a turn was under way
	entry entryBuilder
	code  int // of the first line that could not be done, without a terminal
}

// run does entries until the input ends, the user leaves, or something makes going on useless.
func (l *lineChat) run(ctx context.Context) error {
	if err := l.greet(ctx); err != nil {
		return err
	}
	for {
		entry, err := l.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return l.end()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errUnreadable):
			return err
		case err != nil:
			l.refuse(exitFailure, err)
			continue
		}
		quit, err := l.do(ctx, entry)
		switch {
		case err != nil:
			return err
		case quit:
			return l.end()
		}
	}
}

func (l *lineChat) greet(ctx context.Context) error {
	if !l.interactive {
		return nil
	}
	id, next, err := l.chat.Conversation(ctx)
	if err != nil {
		return err
	}
	what := "a new conversation"
	if id != "" {
		what = "conversation " + id
	}
	if next > 1 {
		what += fmt.Sprintf(" goes on at turn %d", next)
	}
	l.console.note("%s; /help lists the commands, Ctrl-D leaves", what)
	return nil
}

// end is the outcome of a chat that came to its end.
func (l *lineChat) end() error {
	if l.code == exitDone {
		return nil
	}
	return &exitError{code: l.code}
}

// refuse tells why a line was not done.
func (l *lineChat) refuse(code int, err error) {
	l.console.line("31", "error: %s", err)
	if l.code == exitDone && !l.interactive {
		l.code = code
	}
}

var errUnreadable = errors.New("reading the input")

// next reads an entry. The error is [io.EOF] at the end of the input, that of ctx, [errUnreadable], or why lines can't be used. An
// entry that Ctrl-C interrupts is forgotten.
func (l *lineChat) next(ctx context.Context) (string, error) {
	for {
		line, err := l.nextLine(ctx)
		switch {
		case errors.Is(err, errDiscarded):
			_, _ = l.entry.take()
			continue
		case errors.Is(err, io.EOF) && l.entry.pending():
			return l.entry.take()
		case err != nil:
			return "", err
		case line.broken != nil:
			return "", fmt.Errorf("%w: %w", errUnreadable, line.broken)
		}
		if l.entry.add(line) {
			return l.entry.take()
		}
	}
}

// errDiscarded says that Ctrl-C was pressed within an entry.
var errDiscarded = errors.New("discarded")

// nextLine asks for a line. Within an entry Ctrl-C gives errDiscarded.
func (l *lineChat) nextLine(ctx context.Context) (inputLine, error) {
	if len(l.ahead) > 0 {
		line := l.ahead[0]
		l.ahead = l.ahead[1:]
		return line, nil
	}
	prompt, discarded := "… ", make(chan struct{}, 1)
	switch {
	case !l.interactive:
	case l.entry.pending():
		defer l.interrupts.during(func() { discarded <- struct{}{} })()
	default:
		_, number, err := l.chat.Conversation(ctx)
		if err != nil {
			return inputLine{}, err
		}
		prompt = strconv.Itoa(number) + "> "
	}
	return l.read(ctx, prompt, discarded)
}

// read takes a line from the input, and on a terminal asks for it.
func (l *lineChat) read(ctx context.Context, prompt string, discarded <-chan struct{}) (inputLine, error) {
	if err := ctx.Err(); err != nil {
		return inputLine{}, err
	}
	if l.interactive {
		l.console.prompt(prompt)
	}
	select {
	case line, ok := <-l.lines:
		if !ok {
			return line, io.EOF
		}
		l.console.answered()
		return line, nil
	case <-discarded:
		return inputLine{}, errDiscarded
	case <-ctx.Done():
		return inputLine{}, ctx.Err()
	}
}

// do does one entry. An error ends the chat.
func (l *lineChat) do(ctx context.Context, entry string) (quit bool, err error) {
	model := l.chat.Config().Engine.ModelPath
	out, err := l.chat.Do(ctx, entry)
	if err != nil {
		if ctx.Err() != nil {
			return true, ctx.Err()
		}
		code := exitCode(err)
		if app.IsEntryError(err) {
			code = exitUsage
		}
		l.refuse(code, err)
		return false, nil
	}
	if now := l.chat.Config().Engine.ModelPath; now != model {
		// Commands to resume a task with name the model that it was begun with.
		if err := l.cmd.Root().PersistentFlags().Set("model-path", now); err != nil {
			return true, err
		}
	}
	l.show(out)
	switch out.Effect {
	case app.EffectQuit:
		return true, nil
	case app.EffectClear:
		l.console.clearScreen()
	case app.EffectTask:
		return false, l.work(ctx, out.Task)
	case app.EffectNone, app.EffectCancel: // a turn under way is cancelled where it is waited for
	}
	return false, nil
}

// show tells what came of an entry, on stderr: stdout is for answers.
func (l *lineChat) show(out app.Output) {
	if t := out.Table; t != nil {
		l.console.say("%s", strings.TrimRight(tableText(t, l.now(), l.console.errColumns()), "\n"))
	}
	if len(out.Turns) > 0 {
		l.console.say("%s", strings.TrimRight(turnsText(out.Turns, l.now()), "\n"))
	}
	for _, line := range out.Lines {
		l.console.say("%s", line)
	}
}

// work does a task and tells what came of it. An error ends the chat.
func (l *lineChat) work(ctx context.Context, task app.ChatTask) error {
	p := &progress{console: l.console}
	report, stopped, err := l.task(ctx, task, p)
	if err == nil && l.wanted(ctx, task, report) {
		if !l.console.json {
			p.finish(report.Answer)
		}
		p = &progress{console: l.console}
		report, stopped, err = l.task(ctx, app.ChatTask{Thread: report.ThreadID, RetryUnknown: true}, p)
	}
	if err != nil {
		return l.notDone(ctx, stopped, err)
	}
	if l.console.json {
		if err := l.console.printJSON(report); err != nil {
			return err
		}
	} else {
		p.finish(report.Answer)
	}
	p.summary(report)
	if err := l.console.broken(); err != nil {
		return fmt.Errorf("writing the answer: %w; it is stored, see it with: %s", err, l.resumeCommand(l.cmd, report.ThreadID, ""))
	}
	err = l.outcome(l.cmd, report)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return err
	case stopped && report.Status == app.StatusInterrupted:
		l.console.say("interrupted; go on with /resume")
	default:
		l.refuse(exitCode(err), err)
	}
	return nil
}

// task does a task until it ends, or the user stops it with Ctrl-C or, on a terminal, with /cancel.
func (l *lineChat) task(ctx context.Context, task app.ChatTask, p *progress) (report *app.Report, stopped bool, err error) {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	defer l.interrupts.during(cancel)()
	done := make(chan struct{})
	go func() {
		defer close(done)
		report, err = l.chat.Run(work, task, p.observe)
	}()
	for {
		// Lines of a file or pipe wait: what comes of them must not depend on how fast they are read.
		var typed <-chan inputLine
		if l.interactive && len(l.ahead) < maxAhead {
			typed = l.lines
		}
		select {
		case <-done:
			return report, work.Err() != nil && ctx.Err() == nil, err
		case line, ok := <-typed:
			switch {
			case !ok:
				<-done // the input has ended, and says so again when it is read next
				return report, work.Err() != nil && ctx.Err() == nil, err
			case strings.TrimSpace(line.text) == "/cancel":
				cancel()
			default:
				l.ahead = append(l.ahead, line)
			}
		}
	}
}

// notDone tells why a task could not begin. An error ends the chat.
func (l *lineChat) notDone(ctx context.Context, stopped bool, err error) error {
	err = l.notBegun(err)
	switch {
	case ctx.Err() != nil, app.IsModelError(err) && !l.interactive:
		return err
	case l.console.broken() != nil:
		return fmt.Errorf("writing the result: %w", l.console.broken())
	case stopped && errors.Is(err, context.Canceled):
		l.console.say("interrupted before it began; ask again")
	default:
		l.refuse(exitCode(err), err)
	}
	return nil
}

// wanted asks whether a call of unknown outcome may run again. Without a terminal the answer is no.
func (l *lineChat) wanted(ctx context.Context, task app.ChatTask, r *app.Report) bool {
	if !l.interactive || task.RetryUnknown || r.Error == nil || r.Error.Kind != app.KindOutcomeUnknown {
		return false
	}
	l.console.say("%s", oneLine(r.Error.Message))
	line, err := l.read(ctx, "Run it again? [y/N] ", nil)
	return err == nil && isYes(line.text)
}

// tableText shows a table at a time, in at most limit columns; 0 is any number.
func tableText(t *app.Table, now time.Time, limit int) string {
	columns := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = column{title: c.Title, right: c.Right, flexible: c.Flexible}
	}
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = make([]string, len(columns))
		for j, cell := range row {
			rows[i][j] = cellText(cell, now)
		}
	}
	return table(columns, rows, limit)
}

func cellText(cell any, now time.Time) string {
	switch v := cell.(type) {
	case app.Bytes:
		return formatBytes(int64(v))
	case time.Time:
		return formatAge(v, now)
	}
	return fmt.Sprint(cell)
}
