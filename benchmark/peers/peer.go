package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"

	"github.com/llama-agent/llama-agent/internal/subprocess"
)

// maker starts a peer.
type maker struct {
	system  string
	command []string // without the flags that all peers take
	lasting bool     // its model stays loaded from one task to the next by its nature, as that of a server does
}

// makers are the peers that were installed.
func (o *options) makers() []maker {
	var list []maker
	if o.cpython != "" {
		list = append(list, maker{system: llamaPython, command: []string{o.cpython, o.agents + "/llama_cpp_python.py"}})
	}
	if o.server != "" {
		list = append(list, maker{system: llamaServer, command: []string{o.python, o.agents + "/llama_server.py", "--server", o.server}, lasting: true})
	}
	if o.node != "" {
		list = append(list, maker{system: nodeLlama, command: []string{"node", o.node}})
	}
	return list
}

// peer is a program that does one job after the other with its model loaded. It belongs to one goroutine.
type peer struct {
	system, layout string
	hello          struct {
		Name   string  `json:"name"`
		LoadMS float64 `json:"load_ms"`
	}
	began  time.Time
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  <-chan []byte // closed at the end of its output
	killed bool          // or it ended by itself
}

// What a peer can be asked.
const (
	opWarm       = "warm"        // to read what all tasks share
	opTask       = "task"        // to do a task
	opFirstToken = "first_token" // to answer as soon as the first token of a reply is there
)

// job is what a peer is asked to do.
type job struct {
	Op        string     `json:"op"`
	Goal      string     `json:"goal,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Facts     string     `json:"facts,omitempty"` // what is known of the workspace
	Tools     []toolSpec `json:"tools,omitempty"`
	Trunk     *prompt    `json:"trunk,omitempty"`
	Messages  []message  `json:"messages,omitempty"` // of opFirstToken
}

// errLimit says that a peer was killed because it took too long.
var errLimit = errors.New("its time was over")

// start returns when the model is loaded.
func (m maker) start(ctx context.Context, o *options, layout string, stderr io.Writer) (*peer, error) {
	s := o.settings
	args := append(append([]string{}, m.command[1:]...),
		"--model", o.model, "--layout", layout, "--threads", strconv.Itoa(s.threads), "--ctx", strconv.Itoa(s.context),
		"--temperature", strconv.FormatFloat(s.temperature, 'g', -1, 64), "--seed", strconv.Itoa(s.seed))
	p := &peer{system: m.system, layout: layout, cmd: exec.CommandContext(ctx, m.command[0], args...)}
	p.cmd.Stderr = stderr
	subprocess.OwnGroup(p.cmd)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", m.system, err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", m.system, err)
	}
	p.stdin, p.began = stdin, time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", m.system, err)
	}
	lines := make(chan []byte)
	p.lines = lines
	go func() { // ends with the output of the process, which [peer.stop] waits for
		defer close(lines)
		for reader := bufio.NewReader(stdout); ; {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	if err := p.read(ctx, o.limit, &p.hello); err != nil {
		p.kill()
		return nil, fmt.Errorf("starting %s: %w", m.system, err)
	}
	return p, nil
}

// ask puts a job and waits for what came of it. A peer that is over the limit is killed.
func (p *peer) ask(ctx context.Context, limit time.Duration, j job, into any) error {
	line, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("asking %s: %w", p.system, err)
	}
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		p.kill()
		return fmt.Errorf("asking %s: %w", p.system, err)
	}
	if err := p.read(ctx, limit, into); err != nil {
		return fmt.Errorf("asking %s: %w", p.system, err)
	}
	return nil
}

func (p *peer) read(ctx context.Context, limit time.Duration, into any) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case line, ok := <-p.lines:
		if !ok {
			p.kill() // whatever is left of it
			return errors.New("it ended; its messages are in peers.log of the results")
		}
		return json.Unmarshal(line, into)
	case <-timer.C:
		p.kill()
		return errLimit
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill ends the process and its children with SIGKILL, and returns when they are gone.
func (p *peer) kill() {
	if p.killed {
		return
	}
	p.killed = true
	_ = p.cmd.Cancel() // a process that is gone already is what is wanted
	for range p.lines {
	}
	_ = p.cmd.Wait() // it was killed
}

// stop lets the process end by itself and returns the most memory that it, or a child of it, had.
func (p *peer) stop() int64 {
	if p.killed {
		return subprocess.PeakRSS(p.cmd.ProcessState)
	}
	p.killed = true
	_ = p.stdin.Close() // whether it ended well is told by what it reported before
	for range p.lines {
	}
	_ = p.cmd.Wait()
	return subprocess.PeakRSS(p.cmd.ProcessState)
}
