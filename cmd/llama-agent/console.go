package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/llama-agent/llama-agent/app"
)

// console is what a command writes to: the result to stdout, everything else to stderr. All text passes an
// [app.InertWriter]. The first error of writing to stdout is kept for finish. It is safe for concurrent use.
type console struct {
	mu     sync.Mutex
	stdout *app.InertWriter
	failed error // of stdout
	stderr io.Writer

	outTerminal, errTerminal bool
	color                    bool   // control sequences for looks are welcome on a terminal
	width                    int    // columns
	transient                string // the status line that the next output overwrites, empty when there is none
	prompted                 bool   // the cursor stands behind a prompt

	json, quiet, verbose bool
}

const defaultWidth = 80

func newConsole(stdout, stderr io.Writer, color bool) *console {
	c := &console{stdout: app.NewInertWriter(stdout), stderr: stderr, color: color, width: defaultWidth}
	for _, s := range []struct {
		w        io.Writer
		terminal *bool
	}{{stderr, &c.errTerminal}, {stdout, &c.outTerminal}} {
		f, ok := s.w.(*os.File)
		if !ok || !term.IsTerminal(int(f.Fd())) {
			continue
		}
		*s.terminal = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			c.width = width
		}
	}
	return c
}

// print writes a part of the result.
func (c *console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outTerminal {
		c.clear()
	}
	if c.failed == nil {
		_, c.failed = io.WriteString(c.stdout, text)
	}
}

func (c *console) printf(format string, args ...any) { c.print(fmt.Sprintf(format, args...)) }

// printJSON writes the one object of --json.
func (c *console) printJSON(v any) error {
	line, err := app.InertJSON(v)
	if err != nil {
		return err
	}
	c.print(string(line))
	return nil
}

// broken returns the error that stdout has had so far.
func (c *console) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// prompt asks for input, on stderr. Output that comes before it is answered begins on a line of its own.
func (c *console) prompt(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	c.prompted = true
	_, _ = io.WriteString(c.stderr, app.Inert(text))
}

// answered says that the user has ended the line of a prompt.
func (c *console) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompted = false
}

// clearScreen empties a terminal. Without one it does nothing.
func (c *console) clearScreen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.errTerminal && c.color {
		_, _ = io.WriteString(c.stderr, "\x1b[H\x1b[2J")
	}
}

// finish ends the output. A reader that has gone (as with "| head") has what it wants, and is no error.
func (c *console) finish() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.failed == nil {
		c.failed = c.stdout.Flush()
	}
	switch {
	case c.failed == nil, errors.Is(c.failed, syscall.EPIPE):
		return nil
	default:
		return fmt.Errorf("writing the result: %w", c.failed)
	}
}

// say writes a line to stderr whatever the form of output. Lines are for people; nothing parses them.
func (c *console) say(format string, args ...any) { c.line("", format, args...) }

// note writes a line of progress to stderr, dimmed on a terminal. With --quiet there is none.
func (c *console) note(format string, args ...any) {
	if !c.quiet {
		c.line("2", format, args...)
	}
}

// line writes one line of stderr in a style: the number of an ANSI attribute, or none.
func (c *console) line(style, format string, args ...any) {
	text := app.Inert(fmt.Sprintf(format, args...))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if style != "" && c.errTerminal && c.color {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	// An error of stderr has nowhere to be told.
	_, _ = io.WriteString(c.stderr, text+"\n")
}

// status shows a line that the next output replaces. Without a terminal it shows nothing.
func (c *console) status(format string, args ...any) {
	if c.quiet || !c.errTerminal || !c.color {
		return
	}
	text := truncate(oneLine(app.Inert(fmt.Sprintf(format, args...))), c.width-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == c.transient {
		return
	}
	c.transient = text
	_, _ = io.WriteString(c.stderr, "\r\x1b[K"+text)
}

// clear removes a status line, and leaves that of a prompt. The caller holds mu.
func (c *console) clear() {
	if c.prompted {
		c.prompted = false
		_, _ = io.WriteString(c.stderr, "\n")
	}
	if c.transient != "" {
		c.transient = ""
		_, _ = io.WriteString(c.stderr, "\r\x1b[K")
	}
}

// columns is the width that lines of stdout are cut to, 0 for no limit: what goes to a file or a pipe stays whole.
func (c *console) columns() int {
	if c.outTerminal {
		return c.width
	}
	return 0
}

// errColumns is the same for stderr.
func (c *console) errColumns() int {
	if c.errTerminal {
		return c.width
	}
	return 0
}

// oneLine joins the lines of s.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// width is the number of columns that a line takes on a terminal.
func width(line string) int { return uniseg.StringWidth(line) }

// truncate cuts s to at most columns, with an ellipsis where something is left out. 0 is no limit.
func truncate(s string, columns int) string {
	if columns <= 0 || width(s) <= columns {
		return s
	}
	var b strings.Builder
	room := columns - 1
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if room -= g.Width(); room < 0 {
			break
		}
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}
