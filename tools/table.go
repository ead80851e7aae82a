package tools

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// maxTableBytes bounds a text file that is read as a table, and maxTableColumns its columns.
	maxTableBytes   = 64 << 20
	maxTableColumns = 200
)

// A table is what a text file with rows and columns holds. Cells are nil, int64, float64 or string, and those of a column have one type.
type table struct {
	name    string
	columns []string
	types   []string // of the columns, as in SQL
	rows    [][]any
}

// errNoTable says of a text file that it has no rows and columns, and why.
type errNoTable struct{ reason string }

func (e errNoTable) Error() string { return e.reason }

// separators are what can stand between the fields of a line, by the ending of a file's name. Of several, the one that the first line has most of.
var separators = map[string][]rune{".csv": {',', ';', '\t', '|'}, ".tsv": {'\t'}}

// hasTableName tells by its name whether a text file can be read as a table.
func hasTableName(file string) bool {
	switch ext := tableEnding(file); ext {
	case ".json", ".jsonl", ".ndjson":
		return true
	default:
		return separators[ext] != nil
	}
}

func tableEnding(file string) string {
	return path.Ext(strings.TrimSuffix(strings.ToLower(file), ".gz"))
}

// readTable reads a text file that hasTableName as a table. The error is an errNoTable when it holds none.
func readTable(ctx context.Context, t target) (*table, error) {
	text, problem := t.openText(ctx)
	if problem != nil {
		return nil, problem
	}
	defer text.Close()
	data, err := io.ReadAll(io.LimitReader(text.r, maxTableBytes+1))
	switch {
	case err != nil:
		return nil, text.failed(err)
	case len(data) > maxTableBytes:
		return nil, errNoTable{"it is larger than " + byteSize(maxTableBytes)}
	}
	file := t.show
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	name, _, _ := strings.Cut(strings.TrimLeft(base, "."), ".")
	ending := tableEnding(file)
	if list := separators[ending]; list != nil {
		return separatedTable(tableName(name), data, list)
	}
	return objectTable(tableName(name), data, ending != ".json")
}

// tableName makes a name that SQL takes without quotes: letters, digits and underscores, no digit in front. The letters of any script do.
func tableName(text string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) {
			return r
		}
		return '_'
	}, strings.TrimSpace(text))
	if name = strings.Trim(name, "_"); name == "" {
		return "data"
	}
	if unicode.IsDigit([]rune(name)[0]) {
		name = "_" + name
	}
	return name
}

// separatedTable reads lines of separated fields whose first line names the columns.
func separatedTable(name string, data []byte, separators []rune) (*table, error) {
	first, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	r := csv.NewReader(bytes.NewReader(data))
	r.LazyQuotes, r.TrimLeadingSpace, r.ReuseRecord = true, true, true
	r.Comma = slices.MaxFunc(separators, func(a, b rune) int {
		return strings.Count(string(first), string(a)) - strings.Count(string(first), string(b))
	})
	header, err := r.Read()
	if err != nil {
		return nil, errNoTable{"it is empty"}
	}
	t := &table{name: name}
	for _, cell := range header {
		if cell = strings.TrimSpace(cell); cell == "" || isNumber(cell) {
			return nil, errNoTable{"its first line does not name the columns"}
		}
		t.columns = append(t.columns, cell)
	}
	if err := t.nameColumns(); err != nil {
		return nil, err
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t.typed()
		}
		if err != nil {
			return nil, errNoTable{fmt.Sprintf("reading its lines: %v", err)}
		}
		row := make([]any, len(record))
		for i, cell := range record {
			row[i] = strings.TrimSpace(cell)
		}
		t.rows = append(t.rows, row)
	}
}

// nameColumns makes names of columns that SQL takes without quotes, and refuses those that are no names.
func (t *table) nameColumns() error {
	if len(t.columns) < 2 || len(t.columns) > maxTableColumns {
		return errNoTable{fmt.Sprintf("it has %s; a table has 2 to %d", plural(len(t.columns), "column"), maxTableColumns)}
	}
	seen := map[string]bool{}
	for i, name := range t.columns {
		name = tableName(name)
		if seen[strings.ToLower(name)] {
			return errNoTable{fmt.Sprintf("two of its columns are called %q", name)}
		}
		seen[strings.ToLower(name)] = true
		t.columns[i] = name
	}
	return nil
}

// objectTable reads objects of one kind: an array of them, alone or as the only such one in an object, or one object a line.
func objectTable(name string, data []byte, lines bool) (*table, error) {
	noTable := errNoTable{"it is not a list of objects"}
	var objects []json.RawMessage
	switch data = bytes.TrimSpace(data); {
	case lines:
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				objects = append(objects, line)
			}
		}
	case bytes.HasPrefix(data, []byte("[")):
		if json.Unmarshal(data, &objects) != nil {
			return nil, noTable
		}
	default:
		keys, members, err := objectMembers(data)
		if err != nil {
			return nil, noTable
		}
		for i, key := range keys {
			var list []json.RawMessage
			if json.Unmarshal(members[i], &list) != nil || len(list) == 0 || !bytes.HasPrefix(bytes.TrimSpace(list[0]), []byte("{")) {
				continue
			}
			if objects != nil {
				return nil, errNoTable{"it holds several lists"}
			}
			objects, name = list, tableName(key)
		}
	}
	if len(objects) == 0 {
		return nil, noTable
	}
	t := &table{name: name}
	at := map[string]int{}
	for _, object := range objects {
		keys, members, err := objectMembers(object)
		if err != nil {
			return nil, noTable
		}
		row := make([]any, len(t.columns), len(t.columns)+len(keys))
		for i, key := range keys {
			column, known := at[key]
			if !known {
				column = len(t.columns)
				at[key], t.columns = column, append(t.columns, key)
				row = append(row, nil)
			}
			row[column] = memberCell(members[i])
		}
		t.rows = append(t.rows, row)
	}
	for i, row := range t.rows {
		t.rows[i] = append(row, make([]any, len(t.columns)-len(row))...)
	}
	if err := t.nameColumns(); err != nil {
		return nil, err
	}
	return t.typed()
}

// objectMembers returns the members of an object in their order.
func objectMembers(data []byte) (keys []string, members []json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, nil, errors.Join(err, errors.New("no object"))
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var member json.RawMessage
		if err := dec.Decode(&member); err != nil {
			return nil, nil, err
		}
		key, _ := token.(string)
		if i := slices.Index(keys, key); i >= 0 {
			members[i] = member
			continue
		}
		keys, members = append(keys, key), append(members, member)
	}
	_, err = dec.Token()
	return keys, members, err
}

// memberCell is a scalar as text, null as nil, and anything else as JSON.
func memberCell(raw json.RawMessage) any {
	var text string
	switch {
	case string(raw) == "null":
		return nil
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// typed gives each column the narrowest type that all its cells have, and turns them into values of it. In a column of numbers a missing
// one is NULL.
func (t *table) typed() (*table, error) {
	if len(t.rows) == 0 {
		return nil, errNoTable{"it has no rows"}
	}
	t.types = make([]string, len(t.columns))
	for i := range t.columns {
		integers, numbers, some := true, true, false
		for _, row := range t.rows {
			text, _ := row[i].(string)
			if text == "" {
				continue
			}
			some = true
			integers = integers && isInteger(text)
			if numbers = numbers && isNumber(text); !numbers {
				break
			}
		}
		switch {
		case !some || !numbers:
			t.types[i] = "TEXT"
			continue
		case integers:
			t.types[i] = "INTEGER"
		default:
			t.types[i] = "REAL"
		}
		for _, row := range t.rows {
			row[i] = numberCell(row[i], integers)
		}
	}
	return t, nil
}

func numberCell(cell any, integer bool) any {
	text, _ := cell.(string)
	if integer {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return nil
}

// isInteger takes what reads back the same, which codes such as 007 do not.
func isInteger(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == strings.TrimPrefix(text, "+")
}

// isNumber takes decimal numbers without needless zeros in front, which codes and dates are not.
func isNumber(text string) bool {
	if isInteger(text) {
		return true
	}
	digits := strings.TrimLeft(text, "+-")
	if strings.Trim(digits, "0123456789.eE+-") != "" || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
