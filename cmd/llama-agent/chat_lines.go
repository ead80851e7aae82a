package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// inputLine is one line of input without its end.
type inputLine struct {
	number int // from 1
	text   string
	open   bool  // it ends with a backslash, which text no longer has: the next line belongs to it
	err    error // why it can't be used
	broken error // the input can't be read any further
}

// readLines reads lines of at most limit bytes until the input or ctx ends, then closes the channel. Reading a terminal can't be
// cancelled: the goroutine may stay until the process ends.
func readLines(ctx context.Context, r io.Reader, limit int) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(r, 64<<10)
		for number := 1; ; number++ {
			data, tooLong, err := readLine(in, limit)
			line := newInputLine(number, data)
			if tooLong {
				line.text, line.err = "", fmt.Errorf("it is longer than %d bytes", limit)
			}
			ended := errors.Is(err, io.EOF)
			switch {
			case ended && len(data) == 0:
				return
			case err != nil && !ended:
				line = inputLine{number: number, broken: err}
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads up to a line end. Of a line that is too long it returns the end only.
func readLine(in *bufio.Reader, limit int) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit+len("\r\n") {
			tooLong, line = true, nil
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			line = bytes.TrimSuffix(line, []byte("\r"))
			return line, tooLong || len(line) > limit, err
		}
	}
}

// newInputLine looks at a line: whether it goes on, and whether it is text.
func newInputLine(number int, data []byte) inputLine {
	line := inputLine{number: number}
	if number == 1 {
		data = bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	// Two backslashes at the end of a line, as of a folder on another system, are no sign to go on.
	body := bytes.TrimRight(data, `\`)
	if line.open = (len(data)-len(body))%2 == 1; line.open {
		data = data[:len(data)-1]
	}
	switch {
	case !utf8.Valid(data):
		line.err = errors.New("it is not UTF-8 text")
	case bytes.IndexByte(data, 0) >= 0:
		line.err = errors.New("it has a NUL character, which text has not; input must be UTF-8")
	default:
		line.text = string(data)
	}
	return line
}

// entryBuilder joins lines that belong together. Its zero value is ready.
type entryBuilder struct {
	text    strings.Builder
	first   int   // number of the first line; 0: there is none yet
	problem error // with the first line that can't be used
	limit   int   // bytes of an entry; 0: any number
}

// pending reports whether lines wait for more.
func (b *entryBuilder) pending() bool { return b.first > 0 }

// add takes one more line, and reports whether the entry is complete.
func (b *entryBuilder) add(line inputLine) bool {
	if b.first == 0 {
		b.first = line.number
	} else {
		b.text.WriteByte('\n')
	}
	if b.problem == nil && line.err != nil {
		b.problem = fmt.Errorf("line %d is left out: %w", line.number, line.err)
		if b.first != line.number || line.open {
			b.problem = fmt.Errorf("line %d and those that belong to it are left out: %w", line.number, line.err)
		}
	}
	b.text.WriteString(line.text)
	if b.problem == nil && b.limit > 0 && b.text.Len() > b.limit {
		b.problem = fmt.Errorf("the lines from %d on are left out: together they are longer than %d bytes", b.first, b.limit)
	}
	if b.problem != nil {
		b.text.Reset() // an endless input must not fill the memory
	}
	return !line.open
}

// take returns the entry, and is ready for the next one.
func (b *entryBuilder) take() (entry string, err error) {
	entry, err = b.text.String(), b.problem
	*b = entryBuilder{limit: b.limit}
	if err != nil {
		return "", err
	}
	return entry, nil
}
