package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// kind knows one type of value: how it is written in TOML and as plain text, and what it may be.
// Its errors say what is expected and never repeat the value.
type kind[T any] interface {
	// fromTOML converts a decoded TOML value: bool, int64, float64, string, []any, a date or a map.
	fromTOML(v any) (T, error)
	// fromText converts the text of an environment variable or a flag.
	fromText(s string) (T, error)
	// toml returns v as a TOML literal.
	toml(v T) string
	// plain returns v as JSON should show it: in the unit of the key.
	plain(v T) any
	// describe names the allowed values, in a few words.
	describe() string
}

type boolKind struct{}

func (boolKind) describe() string { return "true or false" }

func (k boolKind) fromTOML(v any) (bool, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return false, errors.New("must be true or false, without quotes")
}

func (k boolKind) fromText(s string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, errors.New("must be true or false (1/0, yes/no and on/off are accepted)")
}

func (boolKind) plain(v bool) any { return v }

func (boolKind) toml(v bool) string { return strconv.FormatBool(v) }

// intKind holds whole numbers from min to max. A value in except is allowed outside the range.
type intKind[T int | int64] struct {
	min, max T
	except   []T
}

func (k intKind[T]) describe() string {
	s := fmt.Sprintf("%d to %d", k.min, k.max)
	for _, e := range k.except {
		s += fmt.Sprintf(", or %d", e)
	}
	return s
}

func (k intKind[T]) check(v int64) (T, error) {
	if slices.Contains(k.except, T(v)) || v >= int64(k.min) && v <= int64(k.max) {
		return T(v), nil
	}
	return 0, errors.New("must be " + k.describe())
}

func (k intKind[T]) fromTOML(v any) (T, error) {
	if i, ok := v.(int64); ok {
		return k.check(i)
	}
	return 0, errors.New("must be a whole number without quotes, " + k.describe())
}

func (k intKind[T]) fromText(s string) (T, error) {
	i, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0, errors.New("must be a whole number, " + k.describe())
	}
	return k.check(i)
}

func (intKind[T]) plain(v T) any { return v }

func (k intKind[T]) toml(v T) string { return strconv.FormatInt(int64(v), 10) }

// floatKind holds numbers from min to max; with open, min itself is excluded.
type floatKind struct {
	min, max float64
	open     bool
}

func (k floatKind) describe() string {
	if k.open {
		return fmt.Sprintf("above %g, at most %g", k.min, k.max)
	}
	return fmt.Sprintf("%g to %g", k.min, k.max)
}

func (k floatKind) check(v float64) (float64, error) {
	if math.IsNaN(v) || v < k.min || v > k.max || k.open && v == k.min {
		return 0, errors.New("must be " + k.describe())
	}
	return v, nil
}

func (k floatKind) fromTOML(v any) (float64, error) {
	switch v := v.(type) {
	case float64:
		return k.check(v)
	case int64:
		return k.check(float64(v))
	}
	return 0, errors.New("must be a number without quotes, " + k.describe())
}

func (k floatKind) fromText(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0, errors.New("must be a number, " + k.describe())
	}
	return k.check(v)
}

func (floatKind) plain(v float64) any { return v }

func (k floatKind) toml(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".en") {
		s += ".0" // TOML tells floats from integers by the point
	}
	return s
}

// durationKind holds a number of units from min to max units.
type durationKind struct {
	unit     time.Duration
	min, max float64
}

func (k durationKind) name() string {
	if k.unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

func (k durationKind) describe() string {
	return fmt.Sprintf("%s to %s", strconv.FormatFloat(k.min, 'f', -1, 64), strconv.FormatFloat(k.max, 'f', -1, 64))
}

func (k durationKind) check(v float64) (time.Duration, error) {
	if math.IsNaN(v) || v < k.min || v > k.max {
		return 0, fmt.Errorf("must be %s %s", k.describe(), k.name())
	}
	return time.Duration(v * float64(k.unit)), nil
}

func (k durationKind) fromTOML(v any) (time.Duration, error) {
	switch v := v.(type) {
	case float64:
		return k.check(v)
	case int64:
		return k.check(float64(v))
	}
	return 0, fmt.Errorf("must be a number of %s without quotes, %s", k.name(), k.describe())
}

func (k durationKind) fromText(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0, fmt.Errorf("must be a number of %s, %s", k.name(), k.describe())
	}
	return k.check(v)
}

func (k durationKind) plain(v time.Duration) any { return float64(v) / float64(k.unit) }

func (k durationKind) toml(v time.Duration) string {
	return strconv.FormatFloat(float64(v)/float64(k.unit), 'f', -1, 64)
}

// textKind holds any text of one line.
type textKind struct{ what string }

func (k textKind) describe() string { return k.what }

func (k textKind) fromTOML(v any) (string, error) {
	if s, ok := v.(string); ok {
		return k.fromText(s)
	}
	return "", errors.New(`must be text in quotes`)
}

func (k textKind) fromText(s string) (string, error) {
	if strings.ContainsAny(s, "\x00\r\n") || !utf8.ValidString(s) {
		return "", errors.New("must be one line of UTF-8 text")
	}
	return s, nil
}

func (textKind) plain(v string) any { return v }

func (textKind) toml(v string) string { return quote(v) }

// enumKind holds one of a few words. With switches, a boolean stands for "on" or "off".
type enumKind struct {
	words    []string
	switches bool
}

func (k enumKind) describe() string { return strings.Join(k.words, ", ") }

func (k enumKind) fromTOML(v any) (string, error) {
	if b, ok := v.(bool); ok && k.switches {
		if b {
			return "on", nil
		}
		return "off", nil
	}
	if s, ok := v.(string); ok {
		return k.fromText(s)
	}
	return "", fmt.Errorf("must be one of %s, in quotes", k.describe())
}

func (k enumKind) fromText(s string) (string, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	if slices.Contains(k.words, word) {
		return word, nil
	}
	if k.switches {
		if b, err := (boolKind{}).fromText(word); err == nil {
			return k.fromTOML(b)
		}
	}
	err := fmt.Errorf("must be one of %s", k.describe())
	if near := Nearest(word, k.words); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return "", err
}

func (enumKind) plain(v string) any { return v }

func (enumKind) toml(v string) string { return quote(v) }

// listKind holds a list of texts. As plain text it is comma-separated, or a TOML array where an item has a comma.
type listKind struct{ what string }

func (k listKind) describe() string { return k.what }

func (k listKind) fromTOML(v any) ([]string, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, errors.New(`must be a list such as ["a", "b"]`)
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("item %d must be text in quotes", i+1)
		}
		if s == "" {
			return nil, fmt.Errorf("item %d is empty", i+1)
		}
		list = append(list, s)
	}
	return list, nil
}

func (k listKind) fromText(s string) ([]string, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") {
		var doc struct{ V any }
		if err := toml.Unmarshal([]byte("V = "+s), &doc); err != nil {
			return nil, errors.New(`must be a list such as a,b or ["a", "b"]`)
		}
		return k.fromTOML(doc.V)
	}
	list := []string{}
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list, nil
}

func (listKind) plain(v []string) any { return v }

func (listKind) toml(v []string) string {
	quoted := make([]string, len(v))
	for i, s := range v {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// bytesKind holds a number of bytes, with or without a unit. KB, MB and GB are powers of 1000, KiB, MiB and GiB of 1024.
type bytesKind struct{ min int64 }

const maxBytes = 1 << 50

func (k bytesKind) describe() string {
	s := `bytes, or a size such as "512MiB"`
	if k.min > 0 {
		s += fmt.Sprintf(", at least %d", k.min)
	}
	return s
}

func (k bytesKind) check(v int64) (int64, error) {
	if v < k.min || v > maxBytes {
		return 0, errors.New("must be " + k.describe() + ", not negative, at most 1PiB")
	}
	return v, nil
}

func (k bytesKind) fromTOML(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return k.check(v)
	case string:
		return k.fromText(v)
	}
	return 0, errors.New("must be " + k.describe())
}

var byteUnits = []struct {
	name string
	size float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"b", 1}, {"", 1},
}

func (k bytesKind) fromText(s string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(v) || math.Abs(v*u.size) > 2*maxBytes {
			break
		}
		return k.check(int64(v * u.size))
	}
	return 0, errors.New("must be " + k.describe())
}

func (bytesKind) plain(v int64) any { return v }

func (bytesKind) toml(v int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if v >= u.size && v%u.size == 0 {
			return quote(strconv.FormatInt(v/u.size, 10) + u.name)
		}
	}
	return strconv.FormatInt(v, 10)
}

// optional makes the absence of a value a value: nil.
type optional[T any] struct{ kind[T] }

func (k optional[T]) fromTOML(v any) (*T, error) {
	t, err := k.kind.fromTOML(v)
	return &t, err
}

func (k optional[T]) fromText(s string) (*T, error) {
	t, err := k.kind.fromText(s)
	return &t, err
}

func (k optional[T]) plain(v *T) any {
	if v == nil {
		return nil
	}
	return k.kind.plain(*v)
}

func (k optional[T]) toml(v *T) string {
	if v == nil {
		return ""
	}
	return k.kind.toml(*v)
}

// quote returns s as a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
