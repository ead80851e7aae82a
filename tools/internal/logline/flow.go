package logline

import "bytes"

// Role is what a line is in its log.
type Role uint8

// The roles. A line that continues a record is part of it: stack traces, indented text, closing brackets.
const (
	Unparsed Role = iota
	Record
	Continues
	Blank
)

// A Flow tells the role of each line from the lines before it. Its zero value is for the beginning of a log. A line
// that [Line.Starts] a record depends on nothing before it.
type Flow struct {
	open  bool // there is a record to continue
	trace bool // the line before continued it
}

// Next takes the next line with what [Parse] found in it.
func (f *Flow) Next(line []byte, l *Line) Role {
	if l.Form != Unknown && !(l.Weak && f.open) {
		f.open, f.trace = true, false
		return Record
	}
	if isBlank(line) {
		return Blank
	}
	if !f.open {
		return Unparsed
	}
	if l.Weak || line[0] == ' ' || line[0] == '\t' || isTrace(line) || isBrackets(line) || f.trace && isCall(line) {
		f.trace = true
		return Continues
	}
	f.trace = false
	return Unparsed
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\f' {
			return false
		}
	}
	return true
}

// traceWords begin the lines of stack traces that are not indented: of the JVM, Python, Go, Rust, .NET, PHP, Node and C.
var traceWords = [][]byte{
	[]byte("at "), []byte("Caused by"), []byte("Traceback "), []byte("panic: "), []byte("goroutine "), []byte("created by "),
	[]byte("Suppressed: "), []byte("... "), []byte("--- End of "), []byte("During handling of "), []byte("The above exception "),
	[]byte("Stack trace:"), []byte("stack backtrace:"), []byte("stack traceback:"), []byte("#"), []byte("thread '"), []byte("[signal "),
	[]byte("note: run with "), []byte("exit status "), []byte("frame #"), []byte("Exception in thread "), []byte("Unhandled "), []byte("---> "),
	[]byte("==> "), []byte("Backtrace:"), []byte("[stacktrace]"), []byte("from "), []byte("Stack:"), []byte("node:internal"),
}

// isTrace tells the lines of stack traces by how they begin.
func isTrace(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	for _, words := range traceWords {
		if line[0] == words[0] && bytes.HasPrefix(line, words) {
			return true
		}
	}
	return isException(line)
}

// exceptionEnds are how the names of exceptions end.
var exceptionEnds = [][]byte{[]byte("Exception"), []byte("Error"), []byte("Failure"), []byte("Warning"), []byte("Interrupt"), []byte("Exit")}

// isException recognises java.io.IOException: text, ValueError: text, and the name alone.
func isException(line []byte) bool {
	end := 0
	for end < len(line) && (isWord(line[end]) || line[end] == '.' || line[end] == '$') {
		end++
	}
	if end == 0 || end < len(line) && line[end] != ':' && line[end] != ' ' || !isLetter(line[0]) {
		return false
	}
	name := line[:end]
	if dot := bytes.LastIndexByte(name, '.'); dot >= 0 {
		name = name[dot+1:]
	}
	if len(name) == 0 || !isUpper(name[0]) || end < len(line) && line[end] == ' ' && len(name) == end {
		return false
	}
	for _, tail := range exceptionEnds {
		if len(name) > len(tail) && bytes.HasSuffix(name, tail) {
			return true
		}
	}
	return false
}

// isBrackets recognises lines of nothing but brackets and commas, as the ends of objects that span lines.
func isBrackets(line []byte) bool {
	for _, c := range line {
		switch c {
		case '{', '}', '[', ']', '(', ')', ',', ';', ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}

// isCall recognises main.run(0x1, 0x2), the lines of a Go trace between the indented ones.
func isCall(line []byte) bool {
	open := bytes.IndexByte(line, '(')
	return open > 0 && line[len(line)-1] == ')' && bytes.IndexByte(line[:open], ' ') < 0
}
