package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// controlTable holds the spellings of control tokens by their first byte, longer ones first.
type controlTable [256][]string

func newControlTable(spellings []string) *controlTable {
	var t controlTable
	for _, s := range spellings {
		if s != "" {
			t[s[0]] = append(t[s[0]], s)
		}
	}
	for _, list := range t {
		slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return &t
}

// at returns the longest spelling that s begins with, or nothing.
func (t *controlTable) at(s string) string {
	for _, c := range t[s[0]] {
		if strings.HasPrefix(s, c) {
			return c
		}
	}
	return ""
}

// escaper keeps text from becoming control tokens. Each spelling of a control token in a message is replaced by a mark
// before the template runs; after it, the text is cut at the marks and the spellings are tokenised as plain text. All
// other text is tokenised in one piece with its surroundings, as the model saw it in training.
type escaper struct {
	control *controlTable
	mark    string // begins and ends a mark; occurs nowhere in the messages
	found   []string
}

// markRune is a private-use character; one of its repetitions is free in any text.
const markRune = "\uE0F1"

func newEscaper(control *controlTable, req llama.ChatRequest) *escaper {
	longest := 0
	eachText(&req, func(s string) string {
		longest = max(longest, longestRun(s, markRune))
		return s
	})
	return &escaper{control: control, mark: strings.Repeat(markRune, longest+1)}
}

func longestRun(s, unit string) int {
	longest := 0
	for {
		i := strings.Index(s, unit)
		if i < 0 {
			return longest
		}
		n := 0
		for s = s[i:]; strings.HasPrefix(s, unit); s = s[len(unit):] {
			n++
		}
		longest = max(longest, n)
	}
}

// request escapes every text of a request that it may change; see copyRequest.
func (e *escaper) request(req *llama.ChatRequest) { eachText(req, e.escape) }

// copyRequest copies the lists whose texts change on the way to the template, and brings the texts into the form that
// the template sees.
func copyRequest(req llama.ChatRequest) llama.ChatRequest {
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		m := &req.Messages[i]
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			f := &m.ToolCalls[j].Function
			f.Arguments = plainJSON(f.Arguments)
		}
	}
	req.Tools = slices.Clone(req.Tools)
	for i := range req.Tools {
		f := &req.Tools[i].Function
		f.Parameters = []byte(plainJSON(string(f.Parameters)))
	}
	eachText(&req, validText)
	return req
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// eachText maps every text of a request that can come from outside. The names of offered tools are checked instead: the
// grammar of a reply holds them too.
func eachText(req *llama.ChatRequest, fn func(string) string) {
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Content, m.ToolCallID, m.Name = fn(m.Content), fn(m.ToolCallID), fn(m.Name)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.ID, c.Function.Name, c.Function.Arguments = fn(c.ID), fn(c.Function.Name), fn(c.Function.Arguments)
		}
	}
	for i := range req.Tools {
		f := &req.Tools[i].Function
		f.Description, f.Parameters = fn(f.Description), []byte(fn(string(f.Parameters)))
	}
}

// plainJSON replaces the escapes of a JSON text that JSON does not need by the characters themselves. Templates read
// arguments and write them again, and then a control token that came in as "\u003c|im_end|\u003e" would be spelt out.
func plainJSON(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		r, n := escapedRune(s[i:])
		if r < ' ' || r == '"' || r == '\\' {
			b.WriteString(s[i : i+n])
		} else {
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// escapedRune reads the escape that s begins with: its length and what it stands for, 0 when that must stay escaped.
func escapedRune(s string) (r rune, n int) {
	if s[1] == '/' {
		return '/', 2
	}
	first, ok := hexEscape(s)
	if !ok {
		return 0, 2
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if second, ok := hexEscape(s[6:]); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 12
		}
	}
	return 0, 6
}

func hexEscape(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}

// escape replaces spellings of control tokens, the longest at each place.
func (e *escaper) escape(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		spelling := e.control.at(s[i:])
		if spelling == "" {
			i++
			continue
		}
		fmt.Fprintf(&b, "%s%s%d%s", s[done:i], e.mark, len(e.found), e.mark)
		e.found = append(e.found, spelling)
		i += len(spelling)
		done = i
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// next cuts a rendered prompt at its first mark: the text before it, the spelling that it stands for, and the rest. A
// template may drop, repeat or move texts, so marks come in any order.
func (e *escaper) next(prompt string) (before, spelling, after string, ok bool) {
	for from := 0; ; {
		i := strings.Index(prompt[from:], e.mark)
		if i < 0 {
			return prompt, "", "", false
		}
		i += from
		// The text before a mark may end with its characters; the last ones are the mark.
		for strings.HasPrefix(prompt[i+len(markRune):], e.mark) {
			i += len(markRune)
		}
		rest := prompt[i+len(e.mark):]
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if n, err := strconv.Atoi(rest[:digits]); err == nil && n < len(e.found) && strings.HasPrefix(rest[digits:], e.mark) {
			return prompt[:i], e.found[n], rest[digits+len(e.mark):], true
		}
		from = i + len(e.mark)
	}
}
