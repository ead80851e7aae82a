package tools

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

const (
	// logChunkBytes are read at once. Lines up to this length are seen whole.
	logChunkBytes = 1 << 20
	// maxLogWorkers bounds the goroutines, and with them the memory, of one pass over a log.
	maxLogWorkers = 4
)

// A logPass takes the lines of a log in order. One goroutine uses it at a time.
type logPass interface {
	// take takes whole lines. The last line of a log may lack its line end.
	take(data []byte)
	// takePart takes a part of a line that is longer than a chunk: first tells that it begins the line, last that it ends
	// it. A last part may be empty.
	takePart(part []byte, first, last bool)
	// fork returns an empty pass for another goroutine. The lines that it takes begin with a record, so that their
	// meaning depends on no line before them.
	fork() logPass
	// join adds what a fork took, which follows what this pass took, and empties the fork.
	join(fork logPass)
}

// A logSlot holds a chunk from when it is read until it is joined.
type logSlot struct {
	buf    []byte
	data   []byte
	prefix int // bytes of data before its first record, which only the pass itself can understand
	fork   logPass
	busy   bool
	done   chan any // gets the value of a panic, or nil
}

// runPass reads a text from where it stands to its end and gives its lines to a pass. Chunks are taken by forks in
// parallel and joined in order, so that the result does not depend on how many goroutines there are.
func (f *textFile) runPass(p logPass) error {
	return f.runChunks(p, logChunkBytes, min(runtime.GOMAXPROCS(0), maxLogWorkers))
}

func (f *textFile) runChunks(p logPass, chunkBytes, workers int) error {
	chunks := &chunkReader{source: f.r}
	first := make([]byte, chunkBytes)
	c, err := chunks.next(first)
	if err != nil || chunks.eof || workers == 1 {
		return f.runAlone(p, chunks, c, first, err)
	}
	takeChunk(p, c)
	slots := make([]logSlot, workers+2)
	for i := range slots {
		slots[i] = logSlot{buf: make([]byte, chunkBytes), fork: p.fork(), done: make(chan any, 1)}
	}
	slots[0].buf = first
	work := make(chan *logSlot)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for slot := range work {
				slot.done <- slot.run()
			}
		})
	}
	defer wg.Wait()
	defer close(work)
	for turn := 0; ; turn++ {
		slot := &slots[turn%len(slots)]
		slot.finish(p)
		c, err := chunks.next(slot.buf)
		if err == nil && !c.part {
			slot.data, slot.busy = c.data, true
			work <- slot
			continue
		}
		for i := 1; i <= len(slots); i++ { // the oldest first
			slots[(turn+i)%len(slots)].finish(p)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return f.failed(err)
		}
		takeChunk(p, c)
	}
}

func takeChunk(p logPass, c logChunk) {
	if c.part {
		p.takePart(c.data, c.first, c.last)
	} else {
		p.take(c.data)
	}
}

// runAlone is runPass without other goroutines, from a chunk on that has been read.
func (f *textFile) runAlone(p logPass, chunks *chunkReader, c logChunk, buf []byte, err error) error {
	for ; err == nil; c, err = chunks.next(buf) {
		takeChunk(p, c)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return f.failed(err)
}

// run takes the chunk, but for what stands before its first record. It returns the value of a panic, which must not end
// the process.
func (s *logSlot) run() (panicked any) {
	defer func() { panicked = recover() }()
	s.prefix = firstRecord(s.data)
	s.fork.take(s.data[s.prefix:])
	return nil
}

// finish waits for the chunk and joins it.
func (s *logSlot) finish(p logPass) {
	if !s.busy {
		return
	}
	s.busy = false
	if panicked := <-s.done; panicked != nil {
		panic(panicked)
	}
	p.take(s.data[:s.prefix])
	p.join(s.fork)
}

// firstRecord returns where the first line begins that starts a record.
func firstRecord(data []byte) int {
	var l logline.Line
	for at := 0; at < len(data); {
		line, next := nextLine(data, at)
		if l.Parse(line); l.Starts() {
			return at
		}
		at = next
	}
	return len(data)
}

// nextLine returns the line at a position without its line end, and where the one after it begins.
func nextLine(data []byte, at int) (line []byte, next int) {
	end := bytes.IndexByte(data[at:], '\n')
	if end < 0 {
		return trimCR(data[at:]), len(data)
	}
	return trimCR(data[at : at+end]), at + end + 1
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// A logChunk is some whole lines, or a part of a line.
type logChunk struct {
	data        []byte
	part        bool
	first, last bool // of a part
}

// A chunkReader cuts a text into chunks.
type chunkReader struct {
	source io.Reader
	carry  []byte // read, but part of the next chunk
	inLine bool   // the last chunk was a part without the line's end
	eof    bool
}

// next reads a chunk into buf. The error at the end is io.EOF.
func (c *chunkReader) next(buf []byte) (logChunk, error) {
	n := copy(buf, c.carry)
	c.carry = c.carry[:0]
	for !c.eof && n < len(buf) {
		// Not io.ReadFull: its error for the end is the one of a compressed file that was cut off.
		read, err := io.ReadAtLeast(c.source, buf[n:], 1)
		n += read
		if c.eof = errors.Is(err, io.EOF); !c.eof && err != nil {
			return logChunk{}, err
		}
	}
	data := buf[:n]
	switch end := bytes.LastIndexByte(data, '\n'); {
	case c.inLine:
		end = bytes.IndexByte(data, '\n')
		if end < 0 && !c.eof {
			data = c.keep(wholeRunes(data), data)
			return logChunk{data: data, part: true}, nil
		}
		c.inLine = false
		if end >= 0 {
			data = c.keep(data[:end+1], data)
		}
		return logChunk{data: data, part: true, last: true}, nil
	case n == 0:
		return logChunk{}, io.EOF
	case c.eof:
		return logChunk{data: data}, nil
	case end < 0:
		c.inLine = true
		return logChunk{data: c.keep(wholeRunes(data), data), part: true, first: true}, nil
	default:
		return logChunk{data: c.keep(data[:end+1], data)}, nil
	}
}

// keep keeps what follows head in data for the next chunk, and returns head.
func (c *chunkReader) keep(head, data []byte) []byte {
	c.carry = append(c.carry[:0], data[len(head):]...)
	return head
}
