package tools

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
)

// maxTableRows bounds how long a table may be whose extremes are told with its text: a longer one is not shown whole.
const maxTableRows = 500

// tableExtremes tells the largest and smallest values of a table that is shown whole as a text file, as [writeExtremes] does for a query:
// of comma-separated values with names in the first line, or of a list of JSON objects. Empty for all else.
func tableExtremes(file, text string) string {
	var table QueryResult
	switch strings.ToLower(path.Ext(file)) {
	case ".csv", ".tsv":
		table = tableOfValues(text)
	case ".json":
		table = tableOfObjects(text)
	}
	if len(table.Rows) > maxTableRows {
		return ""
	}
	var b strings.Builder
	writeExtremes(&b, table)
	if b.Len() == 0 {
		return ""
	}
	return "\n[" + strings.ReplaceAll(b.String()[1:], "\n", "]\n[") + "]" // as all that is no text of the file
}

func tableOfValues(text string) QueryResult {
	head, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	for _, separator := range ",;\t" {
		if strings.Count(head, string(separator)) > strings.Count(head, string(r.Comma)) {
			r.Comma = separator
		}
	}
	r.TrimLeadingSpace = true
	records, err := r.ReadAll() // all lines have as many fields as the first, or it is no table
	if err != nil || len(records) == 0 {
		return QueryResult{}
	}
	out := QueryResult{Columns: records[0]}
	for _, record := range records[1:] {
		row := make([]any, len(record))
		for i, field := range record {
			row[i] = numberOrText(field)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// numberOrText is a field as JSON knows numbers; what has leading zeros is a name.
func numberOrText(field string) any {
	if json.Valid([]byte(field)) && strings.ContainsAny(field[:1], "-0123456789") {
		return json.Number(field)
	}
	return field
}

// tableOfObjects reads a list of objects with the same keys, or an object with nothing but such a list.
func tableOfObjects(text string) QueryResult {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		var outer map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &outer) != nil || len(outer) != 1 {
			return QueryResult{}
		}
		for _, inner := range outer {
			if json.Unmarshal(inner, &list) != nil {
				return QueryResult{}
			}
		}
	}
	var out QueryResult
	for _, raw := range list {
		keys, row, ok := objectRow(raw)
		if !ok || out.Columns != nil && !slices.Equal(keys, out.Columns) {
			return QueryResult{}
		}
		out.Columns = keys
		out.Rows = append(out.Rows, row)
	}
	return out
}

// objectRow returns the keys of an object in their order, with the values; inner lists and objects as their text.
func objectRow(raw json.RawMessage) (keys []string, row []any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return nil, nil, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, false
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, nil, false
		}
		name, _ := key.(string)
		keys = append(keys, name)
		var cell any
		inner := json.NewDecoder(bytes.NewReader(value))
		inner.UseNumber()
		if inner.Decode(&cell) != nil {
			return nil, nil, false
		}
		switch cell.(type) {
		case json.Number, string, nil:
		default:
			cell = string(value)
		}
		row = append(row, cell)
	}
	_, err := dec.Token()
	return keys, row, err == nil || err == io.EOF
}
