package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/config"
)

// A SuiteProblem is something in a suite file that cannot be meant.
type SuiteProblem struct {
	Line, Column int    // from 1; the column counts characters
	Field        string // such as cases[2].max_tool_calls; empty: the file as a whole
	Reason       string
	Nearest      string // a key that exists and may have been meant
}

// Error says all of it in one line.
func (p *SuiteProblem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	if p.Field != "" {
		b.WriteString(p.Field + " ")
	}
	b.WriteString(p.Reason)
	if p.Nearest != "" {
		b.WriteString("; did you mean " + p.Nearest + "?")
	}
	return b.String()
}

// schemaWalk goes through the JSON of a suite beside the types that it is read into, and notes what does not fit.
type schemaWalk struct {
	data     []byte
	dec      *json.Decoder
	problems []error
	lines    map[string]int // of each value, by field
}

// checkSchema returns the lines of all values, or every problem there is. JSON that cannot be read ends the search.
func checkSchema(data []byte) (lines map[string]int, err error) {
	w := schemaWalk{data: data, dec: json.NewDecoder(bytes.NewReader(data)), lines: map[string]int{}}
	w.dec.UseNumber()
	if !utf8.Valid(data) {
		at := 0
		for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(data[at:]) {
			at += size
		}
		w.problem(at, "", "the file is not UTF-8 here", "")
		return nil, errors.Join(w.problems...)
	}
	if err := w.value(reflect.TypeFor[Suite](), ""); err != nil {
		return nil, errors.Join(append(w.problems, err)...)
	}
	at := w.start()
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		w.problem(at, "", "there is more after the suite", "")
	}
	return w.lines, errors.Join(w.problems...)
}

// start is the offset of the next token.
func (w *schemaWalk) start() int {
	at := int(w.dec.InputOffset())
	for at < len(w.data) && strings.IndexByte(" \t\r\n,:", w.data[at]) >= 0 {
		at++
	}
	return at
}

func (w *schemaWalk) position(at int) (line, column int) {
	before := w.data[:min(at, len(w.data))]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

func (w *schemaWalk) problem(at int, field, reason, nearest string) {
	line, column := w.position(at)
	w.problems = append(w.problems, &SuiteProblem{Line: line, Column: column, Field: field, Reason: reason, Nearest: nearest})
}

// token reads the next token. An error is about the JSON itself.
func (w *schemaWalk) token(field string) (json.Token, error) {
	token, err := w.dec.Token()
	if err == nil {
		return token, nil
	}
	at, reason := len(w.data), "ends too early: unexpected EOF"
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		at, reason = max(0, int(syntax.Offset)-1), "cannot be read: "+syntax.Error()
		for at < len(w.data)-1 && strings.IndexByte(" \t\r\n", w.data[at]) >= 0 {
			at++ // the decoder counts white space before some of what it cannot read
		}
	}
	if field == "" {
		reason = "the file " + reason
	}
	line, column := w.position(at)
	return nil, &SuiteProblem{Line: line, Column: column, Field: field, Reason: reason}
}

// value reads a value that is to become one of type t.
func (w *schemaWalk) value(t reflect.Type, field string) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	at := w.start()
	w.lines[field], _ = w.position(at)
	token, err := w.token(field)
	if err != nil {
		return err
	}
	isText := t == reflect.TypeFor[textJSON]()
	switch token := token.(type) {
	case nil: // as if it were left out
		return nil
	case json.Delim:
		switch {
		case token == '{' && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
			return w.object(t, field)
		case token == '[' && isText:
			return w.list(reflect.TypeFor[string](), field)
		case token == '[' && t.Kind() == reflect.Slice:
			return w.list(t.Elem(), field)
		}
		w.wrongType(at, field, t, map[json.Delim]string{'{': "an object", '[': "a list"}[token])
		return w.skip(field)
	case string:
		if t.Kind() != reflect.String {
			w.wrongType(at, field, t, "a text")
		}
	case bool:
		if t.Kind() != reflect.Bool {
			w.wrongType(at, field, t, "true or false")
		}
	case json.Number:
		if _, err := strconv.Atoi(token.String()); t.Kind() != reflect.Int || err != nil {
			w.wrongType(at, field, t, token.String())
		}
	}
	return nil
}

func (w *schemaWalk) wrongType(at int, field string, t reflect.Type, got string) {
	wanted := map[reflect.Kind]string{
		reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "a list", reflect.String: "a text", reflect.Bool: "true or false",
		reflect.Int: "a whole number",
	}[t.Kind()]
	if t == reflect.TypeFor[textJSON]() {
		wanted = "a text or a list of lines"
	}
	if field == "" {
		field = "the suite"
	}
	w.problem(at, field, fmt.Sprintf("is %s, but must be %s", got, wanted), "")
}

// skip reads to the end of an object or list whose beginning was read.
func (w *schemaWalk) skip(field string) error {
	for depth := 1; depth > 0; {
		token, err := w.token(field)
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

func (w *schemaWalk) list(element reflect.Type, field string) error {
	for i := 0; w.dec.More(); i++ {
		if err := w.value(element, fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return err
		}
	}
	_, err := w.token(field)
	return err
}

func (w *schemaWalk) object(t reflect.Type, field string) error {
	prefix := ""
	if field != "" {
		prefix = field + "."
	}
	fields, names := jsonFields(t)
	seen := map[string]bool{}
	for w.dec.More() {
		at := w.start()
		token, err := w.token(field)
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			w.problem(at, prefix+key, "is there twice", "")
		}
		seen[key] = true
		of, known := fields[key], true
		switch {
		case t == reflect.TypeFor[Texts]():
			of = reflect.TypeFor[textJSON]()
		case t.Kind() == reflect.Map:
			of = t.Elem()
		default:
			known = of != nil
		}
		if known {
			err = w.value(of, prefix+key)
		} else {
			w.problem(at, prefix+key, "is no key of a suite", config.Nearest(key, names))
			err = w.any(prefix + key)
		}
		if err != nil {
			return err
		}
	}
	_, err := w.token(field)
	return err
}

// any reads a value of whatever type.
func (w *schemaWalk) any(field string) error {
	token, err := w.token(field)
	if err != nil {
		return err
	}
	if _, nested := token.(json.Delim); nested {
		return w.skip(field)
	}
	return nil
}

// jsonFields are the fields of a struct by the key that they have in JSON, and the keys in their order.
func jsonFields(t reflect.Type) (fields map[string]reflect.Type, names []string) {
	fields = map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields, nil
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = f.Type
		names = append(names, name)
	}
	return fields, names
}
