package telemetry

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxLine is the most bytes that one record has. Data of an event that would make it longer is replaced by a note that it was.
const maxLine = 16 << 10

// maxFields is the most fields that the data of an event have.
const maxFields = 64

// maxValue is the most bytes of JSON from which a value is cut to what a record has room for.
const maxValue = 4 * maxLine

// timeFormat is RFC 3339 with nine digits of a second, so that times sort as text.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// head is what every record begins with.
type head struct {
	Time  string `json:"timestamp_utc"`
	Nanos int64  `json:"monotonic_ns"`
	Task  string `json:"task_id"`
	Phase string `json:"phase"`
	Event string `json:"event"`
}

// line is the record of a typed event, with its line end.
func (h head) line(data any) []byte {
	body := encode(data)
	if body[0] != '{' {
		panic(fmt.Sprintf("telemetry: %T is no object", data)) // data is a type of this package
	}
	return h.join(body)
}

// join appends the fields of a JSON object to those of the head.
func (h head) join(object []byte) []byte {
	line := encode(h)
	if len(object) > len(`{}`) {
		line = append(line[:len(line)-1], ',')
		line = append(line, object[1:]...)
	}
	return append(line, '\n')
}

// event is the record of a lifecycle event. Its data follow the head in the order of their keys.
func (h head) event(data map[string]any, r redactor) []byte {
	reserved := []string{"timestamp_utc", "monotonic_ns", "task_id", "phase", "event"}
	fields := make(map[string]any, min(len(data), maxFields))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if len(fields) == maxFields {
			break
		}
		name := r.text(key)
		if slices.Contains(reserved, name) {
			name = "data_" + name
		}
		fields[name] = r.value(key, data[key])
	}
	line := h.join(encode(fields))
	if len(line) > maxLine || len(data) > maxFields {
		line = h.join(encode(map[string]any{"dropped_fields": len(data), "dropped_reason": "the data of this event are too large for a record"}))
	}
	return line
}

// encode writes JSON on one line, without escapes for HTML. Keys of maps are sorted.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("telemetry: encoding a record: %v", err)) // everything was cleaned before
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// value makes a value of an event fit for a record. Texts are cut and lose their secrets, wherever they are in it.
func (r redactor) value(key string, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return r.named(key, v)
	case bool:
		return v
	case error:
		return r.named(key, errorText(v))
	}
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return rv.Uint()
	case reflect.Float32, reflect.Float64:
		if f := rv.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil
		}
		if rv.Kind() == reflect.Float32 {
			return float32(rv.Float()) // with its own digits
		}
		return rv.Float()
	case reflect.String:
		return r.named(key, rv.String())
	case reflect.Bool:
		return rv.Bool()
	}
	plain, err := toPlain(v)
	if err != nil {
		return r.text(fmt.Sprintf("%T cannot be recorded: %v", v, err))
	}
	return r.plain(key, plain)
}

// toPlain turns a value into what JSON decodes to. A panic of a value's own methods is an error: recording must not end a run.
func toPlain(v any) (plain any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v", p)
		}
	}()
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(data) > maxValue {
		return nil, fmt.Errorf("it has %d bytes of JSON", len(data))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&plain)
	return plain, err
}

func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("%T, whose text panics", err)
		}
	}()
	return err.Error()
}

func (r redactor) plain(key string, v any) any {
	switch v := v.(type) {
	case string:
		return r.named(key, v)
	case []any:
		for i := range v {
			v[i] = r.plain(key, v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[r.text(k)] = r.plain(k, e)
		}
		return out
	}
	return v
}

// named is the text of a value that has a name.
func (r redactor) named(key, text string) string {
	if text != "" && isSecretName.MatchString(key) {
		return Redacted
	}
	return r.text(text)
}

// row is a row of CSV with its line end. Numbers are written as Go writes them, whatever the locale. A text has no line ends.
func row(fields ...any) []byte {
	texts := make([]string, len(fields))
	for i, f := range fields {
		switch f := f.(type) {
		case string:
			texts[i] = strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return ' '
				}
				return r
			}, f)
		case int:
			texts[i] = strconv.Itoa(f)
		case int64:
			texts[i] = strconv.FormatInt(f, 10)
		case float64:
			texts[i] = strconv.FormatFloat(finite(f), 'f', 3, 64)
		case bool:
			texts[i] = strconv.FormatBool(f)
		default:
			panic(fmt.Sprintf("telemetry: a row has no %T", f))
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(texts); err != nil {
		panic(fmt.Sprintf("telemetry: encoding a row: %v", err)) // neither the separator nor the memory can be wrong
	}
	w.Flush()
	return b.Bytes()
}

func formatTime(t time.Time) string { return t.UTC().Format(timeFormat) }
