package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/llama-agent/llama-agent/internal/hostile"
)

// outputGrace is how long output is read on after a program has ended: what it left in the background may keep its
// pipes open for ever.
const outputGrace = 500 * time.Millisecond

// run executes a plan. The result holds what was written, also beside an error. Nothing that was started survives.
func (s *shell) run(ctx context.Context, plan *shellPlan) (ShellResult, error) {
	stdout := &cappedBuffer{limit: s.options.MaxOutputBytes}
	stderr := &cappedBuffer{limit: s.options.MaxOutputBytes}
	e := &shellExecution{shell: s, ctx: ctx, stdout: stdout, stderr: stderr}
	code, err := e.prepare(plan)
	if err == nil {
		code, err = e.plan(plan)
	}
	if e.home != "" {
		err = errors.Join(err, os.RemoveAll(e.home))
	}
	out := ShellResult{ExitCode: code, TimedOut: errors.Is(ctx.Err(), context.DeadlineExceeded)}
	out.Stdout, out.StdoutBytes, out.stdoutLeft = stdout.text()
	out.Stderr, out.StderrBytes, out.stderrLeft = stderr.text()
	out.stdoutType = binaryOutput(stdout.kept)
	out.Truncated = out.stdoutLeft > 0 || out.stderrLeft > 0
	return out, err
}

// binaryOutput returns the type of output that would only fill a prompt with escapes; "" for text. Names that end with NUL are text.
func binaryOutput(kept []byte) string {
	head := kept[:min(len(kept), sniffBytes)]
	_, invalid := hostile.OddBytes(head)
	kind := sniff(head)
	if kind.name == "text" || kind.name == "empty" || kind.mime == "application/octet-stream" && invalid == 0 {
		return ""
	}
	return kind.mime
}

// A shellExecution is one run of a plan. It belongs to one goroutine.
type shellExecution struct {
	*shell
	ctx      context.Context // of this one run
	home     string          // an empty private folder
	env      []string
	programs map[string]string // name to path
	stdout   *cappedBuffer
	stderr   *cappedBuffer
}

// prepare finds all programs before any runs, and makes the environment: nothing of this process's own is in it.
func (e *shellExecution) prepare(plan *shellPlan) (int, error) {
	var err error
	if e.home, err = os.MkdirTemp("", "llama-agent-home-"); err != nil {
		return -1, fmt.Errorf("making an empty home folder: %w", err)
	}
	e.env = []string{
		"PATH=" + strings.Join(e.searchPath(), string(os.PathListSeparator)),
		"HOME=" + e.home, "TMPDIR=" + e.home, "XDG_CONFIG_HOME=" + e.home,
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb", "PAGER=cat", "EDITOR=false", "PWD=" + e.w.dir,
	}
	e.env = append(e.env, gitEnviron(filepath.Dir(e.w.dir))...)
	e.programs = map[string]string{}
	for _, command := range plan.commands() {
		name := command.argv[0]
		if e.programs[name] != "" {
			continue
		}
		path, ok := e.find(name)
		if !ok {
			return -1, &Error{
				Kind:    KindFailed,
				Message: fmt.Sprintf("the program %q is allowed but not installed; nothing was run", name),
				Fix:     "use another program or a file tool",
			}
		}
		e.programs[name] = path
		if name == "git" {
			if problem := e.checkRepository(e.ctx, path, e.env); problem != nil {
				return -1, problem
			}
		}
	}
	return 0, nil
}

// searchPath is the configured one without folders that the model's files are in.
func (e *shellExecution) searchPath() []string {
	var out []string
	for _, dir := range e.options.SearchPath {
		if _, problem := e.w.locate(dir); filepath.IsAbs(dir) && problem != nil {
			out = append(out, dir)
		}
	}
	return out
}

func (e *shellExecution) find(name string) (string, bool) {
	for _, dir := range e.searchPath() {
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return path, true
		}
	}
	return "", false
}

func (e *shellExecution) plan(p *shellPlan) (code int, err error) {
	if p.left != nil {
		code, err = e.plan(p.left)
		if err != nil || (p.op == syntax.AndStmt) != (code == 0) {
			return code, err
		}
		return e.plan(p.right)
	}
	for _, step := range p.sequence {
		if code, err = e.plan(step); err != nil {
			return code, err
		}
	}
	if len(p.pipeline) > 0 {
		return e.pipeline(p.pipeline)
	}
	return code, nil
}

// pipeline runs programs side by side in one process group and waits for all of them. The exit code is the last one's.
func (e *shellExecution) pipeline(commands []shellCommand) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return -1, err
	}
	group := &processGroup{}
	var started []*exec.Cmd
	var stdin *os.File
	var startErr error
	for i, command := range commands {
		var read, write *os.File
		if i < len(commands)-1 {
			if read, write, startErr = os.Pipe(); startErr != nil {
				break
			}
		}
		cmd := e.command(command, group, stdin, write)
		startErr = group.start(cmd)
		// The children hold their own ends now; ours would keep a reader from seeing the end.
		startErr = errors.Join(startErr, closeFile(stdin), closeFile(write))
		stdin = read
		if startErr != nil {
			break
		}
		started = append(started, cmd)
	}
	startErr = errors.Join(startErr, closeFile(stdin))
	if startErr != nil {
		group.kill()
	}
	code := -1
	for i, cmd := range started {
		// Wait's error repeats the exit status, or says that pipes stayed open or the context ended.
		_ = cmd.Wait()
		if i == len(commands)-1 {
			code = exitCode(cmd.ProcessState)
		}
	}
	group.kill()
	if startErr != nil {
		return code, fmt.Errorf("starting %s: %w", commands[len(started)].argv[0], startErr)
	}
	return code, e.ctx.Err()
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

func (e *shellExecution) command(c shellCommand, group *processGroup, stdin, pipe *os.File) *exec.Cmd {
	cmd := newCommand(e.ctx, e.programs[c.argv[0]], c.argv[1:])
	cmd.Args[0] = c.argv[0]
	cmd.Dir, cmd.Env = e.w.dir, e.env
	cmd.Cancel = group.cancel
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stdout io.Writer = e.stdout
	if pipe != nil {
		stdout = pipe
	}
	cmd.Stdout = c.stdout.writer(stdout, e.stderr)
	cmd.Stderr = c.stderr.writer(stdout, e.stderr)
	return cmd
}

// writer returns where a stream goes; nil is the null device.
func (s stream) writer(stdout, stderr io.Writer) io.Writer {
	switch s {
	case toStdout:
		return stdout
	case toStderr:
		return stderr
	}
	return nil
}

// newCommand makes a command that ends with ctx, and whose output is not waited for much longer than the command.
func newCommand(ctx context.Context, path string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = outputGrace
	return cmd
}

// A processGroup holds the programs of a pipeline and what they start.
type processGroup struct {
	mu     sync.Mutex
	leader int // process ID of the first program, and so the group's; 0 before
	killed bool
}

// start starts a program in the group, unless the group has been killed.
func (g *processGroup) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.killed {
		return os.ErrProcessDone
	}
	joinGroup(cmd, g.leader)
	if err := cmd.Start(); err != nil {
		return err
	}
	if g.leader == 0 {
		g.leader = cmd.Process.Pid
	}
	return nil
}

// kill ends every process of the group at once. Later calls do nothing: the group's number may then be another's.
func (g *processGroup) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader != 0 && !g.killed {
		killGroup(g.leader)
	}
	g.killed = true
}

func (g *processGroup) cancel() error {
	g.kill()
	return nil
}

// A cappedBuffer keeps the first limit bytes and counts the rest. It is safe for concurrent use.
type cappedBuffer struct {
	mu    sync.Mutex
	limit int
	kept  []byte
	total int64
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += int64(len(p))
	b.kept = append(b.kept, p[:min(len(p), b.limit-len(b.kept))]...)
	return len(p), nil
}

// text returns what was kept, up to a whole character, the bytes written, and how many of them are left out.
func (b *cappedBuffer) text() (text string, total, left int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.kept
	if int64(len(kept)) < b.total {
		kept = wholeRunes(kept)
	}
	return validText(string(kept)), b.total, b.total - int64(len(kept))
}
