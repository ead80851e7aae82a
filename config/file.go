package config

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// apply reads the TOML text data of the file at path into the configuration.
func (l *loader) apply(path string, data []byte) {
	l.config.File = path
	name := path
	if rel, err := filepath.Rel(l.dir, path); err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	src := Source{Layer: LayerFile, Name: name, dir: filepath.Dir(path)}

	data, line, err := plainText(data)
	if err != nil {
		src.Line = line
		l.problem(src, "", "", "%v", err)
		return
	}
	if len(bytes.TrimSpace(data)) == 0 {
		l.notice(src, "the file is empty, so every value is the default")
		return
	}
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		var syntax *toml.DecodeError
		reason := strings.TrimPrefix(err.Error(), "toml: ")
		if errors.As(err, &syntax) {
			src.Line, _ = syntax.Position()
		}
		l.problem(src, "", "", "not valid TOML: %s", reason)
		return
	}
	for _, e := range entries(data) {
		src.Line = e.line
		l.entry(src, e, lookup(values, e.path))
	}
}

// entry applies one assignment, or reports an unknown section.
func (l *loader) entry(src Source, e entry, value any) {
	id := strings.Join(e.path, ".")
	switch {
	case e.arrayTable:
		l.problem(src, id, "", "[[%s]] makes a list; write [%s]", id, id)
	case e.table:
		if !isSection(id) {
			l.problem(src, id, Nearest(id, sections()), "there is no section [%s]", id)
		}
	case isSection(id):
		l.problem(src, id, "", "%s is a section, not a value; write [%s] and its keys below", id, id)
	default:
		section, name := strings.Join(e.path[:len(e.path)-1], "."), e.path[len(e.path)-1]
		k := find(section, name)
		switch {
		case k == nil && id == "engine.chat_format":
			l.notice(src, chatFormatNotice)
		case k == nil && e.header != "" && !isSection(e.header):
			// Its header is reported already.
		case k == nil:
			l.unknown(src, section, name)
		default:
			if err := k.setTOML(l.config, value); err != nil {
				l.problem(src, id, "", "%s = %s: %v", id, literal(value), err)
				return
			}
			l.record(k, src)
		}
	}
}

// entry is one assignment or one table header of a TOML document.
type entry struct {
	path       []string // full path: that of the table, then the keys
	line       int      // from 1
	table      bool     // header [path]
	arrayTable bool     // header [[path]]
	header     string   // the [header] that an assignment stands below, empty at the top of the file
}

// entries lists the assignments of a valid TOML document in order. An inline table counts as its assignments.
func entries(data []byte) []entry {
	var list []entry
	var p unstable.Parser
	p.Reset(data)
	var table []string
	skip := false // inside [[…]], which is reported once
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			var line int
			table, line = keyPath(&p, e)
			skip = e.Kind == unstable.ArrayTable
			list = append(list, entry{path: table, line: line, table: !skip, arrayTable: skip})
		case unstable.KeyValue:
			if !skip {
				list = assignments(&p, e, table, strings.Join(table, "."), list)
			}
		}
	}
	return list
}

// assignments appends e, or the assignments inside it when its value is an inline table.
func assignments(p *unstable.Parser, e *unstable.Node, prefix []string, header string, list []entry) []entry {
	path, line := keyPath(p, e)
	path = slices.Concat(prefix, path)
	value := e.Value()
	if value.Kind != unstable.InlineTable {
		return append(list, entry{path: path, line: line, header: header})
	}
	children := value.Children()
	for children.Next() {
		if child := children.Node(); child.Kind == unstable.KeyValue {
			list = assignments(p, child, path, header, list)
		}
	}
	return list
}

func keyPath(p *unstable.Parser, e *unstable.Node) (path []string, line int) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if line == 0 {
			line = p.Shape(n.Raw).Start.Line
		}
		path = append(path, string(n.Data))
	}
	return path, line
}

// lookup follows path through nested tables.
func lookup(values map[string]any, path []string) any {
	var v any = values
	for _, name := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[name]
	}
	return v
}

// sections lists every section name, and those that only hold sections, in order.
func sections() []string {
	var list []string
	for _, k := range keys {
		if !slices.Contains(list, k.section) {
			list = append(list, k.section)
		}
	}
	return append(list, "engine.nodes")
}

func isSection(id string) bool { return slices.Contains(sections(), id) }

// plainText checks that data is UTF-8 text and drops a byte order mark. The error comes with its line, 0 for none.
func plainText(data []byte) ([]byte, int, error) {
	isUTF16 := bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) ||
		len(data) >= 2 && (data[0] == 0) != (data[1] == 0)
	if isUTF16 {
		return nil, 0, errors.New("the file is UTF-16 text; save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte{0xef, 0xbb, 0xbf})
	for i, line := range bytes.Split(data, []byte{'\n'}) {
		if !utf8.Valid(line) {
			return nil, i + 1, errors.New("this line is not UTF-8 text; save the file as UTF-8")
		}
	}
	return data, 0, nil
}

// literal shows a decoded TOML value in a message.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return printable(v)
	case []any:
		return fmt.Sprintf("[list of %d]", len(v))
	case map[string]any:
		return "{table}"
	case nil:
		return "nothing"
	default:
		return fmt.Sprint(v)
	}
}
