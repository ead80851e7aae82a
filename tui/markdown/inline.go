package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// inline returns what is inside of a block as one line of spans; line ends of the text are in the spans.
func (d *document) inline(parent ast.Node, style cells.Style) cells.Line {
	w := inlineWriter{source: d.source}
	w.children(parent, style)
	return w.line
}

// inlineWriter collects spans.
type inlineWriter struct {
	source []byte
	line   cells.Line
	text   strings.Builder // of the span that is not in line yet
	style  cells.Style     // of that span
}

func (w *inlineWriter) write(text string, style cells.Style) {
	if style != w.style {
		w.flush()
		w.style = style
	}
	w.text.WriteString(text)
}

func (w *inlineWriter) flush() {
	if w.text.Len() > 0 {
		w.line = append(w.line, cells.Span{Text: w.text.String(), Style: w.style})
		w.text.Reset()
	}
}

// children writes what is inside of a node. It flushes, so that line is complete.
func (w *inlineWriter) children(parent ast.Node, style cells.Style) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.node(n, style)
	}
	w.flush()
}

func (w *inlineWriter) node(n ast.Node, style cells.Style) {
	switch n := n.(type) {
	case *ast.Text:
		text := string(n.Segment.Value(w.source))
		if !n.IsRaw() {
			text = unescape(text)
		}
		w.write(text, style)
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.write("\n", style)
		}
	case *ast.String:
		w.write(string(n.Value), style)
	case *ast.CodeSpan:
		w.codeSpan(n, style)
	case *ast.Emphasis:
		if n.Level >= 2 {
			style = style.With(cells.Bold)
		} else {
			style = style.With(cells.Italic)
		}
		w.children(n, style)
	case *extast.Strikethrough:
		w.children(n, style.With(cells.Strike))
	case *extast.TaskCheckBox:
		if n.IsChecked {
			w.write("[x] ", style.As(cells.Good))
		} else {
			w.write("[ ] ", style.As(cells.Muted))
		}
	case *ast.AutoLink:
		w.write(string(n.Label(w.source)), linkStyle(style))
	case *ast.Link:
		w.link(n, string(n.Destination), style)
	case *ast.Image:
		w.write("image: ", style.As(cells.Muted))
		w.link(n, string(n.Destination), style)
	default:
		w.children(n, style)
	}
}

func (w *inlineWriter) codeSpan(n ast.Node, style cells.Style) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if text, ok := c.(*ast.Text); ok {
			b.Write(text.Segment.Value(w.source))
		}
	}
	w.write(strings.ReplaceAll(b.String(), "\n", " "), style.As(cells.Code))
}

// link writes the text of a link and where it goes, which may be something else than the text says.
func (w *inlineWriter) link(n ast.Node, address string, style cells.Style) {
	address = unescape(address)
	inner := inlineWriter{source: w.source}
	inner.children(n, linkStyle(style))
	text := inner.line.String()
	if text == "" {
		w.write(address, linkStyle(style))
		return
	}
	for _, s := range inner.line {
		w.write(s.Text, s.Style)
	}
	if address != "" && address != text && address != "mailto:"+text {
		w.write(" ("+address+")", style.As(cells.Muted))
	}
}

func linkStyle(style cells.Style) cells.Style { return style.As(cells.Link).With(cells.Underline) }

// maxEntity is the length of the longest name of a character in HTML, with & and ;.
const maxEntity = 33

// unescape resolves backslashes before punctuation, and characters that are written as entities of HTML.
func unescape(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && isPunctuation(text[i+1]):
			i++
		case text[i] == '&':
			if end := strings.IndexByte(text[i:min(i+maxEntity, len(text))], ';'); end > 0 {
				if entity := text[i : i+end+1]; html.UnescapeString(entity) != entity {
					b.WriteString(html.UnescapeString(entity))
					i += end
					continue
				}
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7f && !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
}
