package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/llama-agent/llama-agent/graph/store/fulltext"
)

// Order is the order of items that are not searched by text.
type Order int

// The orders.
const (
	ByKey  Order = iota // by namespace, then key; the same however often items are written
	Newest              // last written first, also when the clock stood still
)

// Query selects items. All it says must hold; the zero value selects all items.
type Query struct {
	Namespace Namespace // items in it and below it; empty: all
	Filter    []Condition

	// Text selects items with these words in their searchable text, and orders them by how well they fit, best first, then
	// by namespace and key. One word is enough, unless All is set; more of them, rarer ones and shorter texts count higher.
	// A word fits words that begin with it, but counts higher when it is the whole word. In scripts written without spaces,
	// such as Chinese, parts of a run of characters fit wherever they stand. Case, accents and width of characters don't
	// matter, and no character has a meaning of its own: text that has no letter or digit fits nothing. Package fulltext
	// has the details and limits.
	Text string
	All  bool // all words of Text must be there

	Order  Order // without Text
	Limit  int   // at most so many; 0: all
	Offset int   // without the first so many
	Peek   bool  // don't put off the expiry of items
}

// Validate returns an error that is [ErrInvalid] when the query breaks a limit.
func (q Query) Validate() error {
	if err := q.Namespace.validatePrefix(false); err != nil {
		return err
	}
	if q.Order != ByKey && q.Order != Newest {
		return &QueryError{What: "order", Reason: fmt.Sprintf("is %d; it must be ByKey or Newest", q.Order)}
	}
	if _, err := NewFilter(q.Filter); err != nil {
		return err
	}
	return validatePage(q.Limit, q.Offset)
}

// Operator compares a field with a value.
type Operator string

// The operators. Numbers are compared with numbers and strings, by bytes, with strings; [Gt] and its like hold for nothing
// else. Eq compares any JSON, objects by their members; [Ne] is its opposite.
const (
	OperatorEq  Operator = "$eq"
	OperatorNe  Operator = "$ne"
	OperatorGt  Operator = "$gt"
	OperatorGte Operator = "$gte"
	OperatorLt  Operator = "$lt"
	OperatorLte Operator = "$lte"
)

// Condition is what a field of a value must be. [Eq], [Ne], [Gt], [Gte], [Lt] and [Lte] make them.
//
// Field is a path: names separated by dots, each followed by any number of [0], [-1] or [*], as in "author.name",
// "chapters[0].title" or "tags[*]". A backslash takes the character after it literally, as in `file\.txt`. [*] leads to all
// elements of an array or members of an object: the condition then holds when it does for one of them, and [Ne] when [Eq]
// holds for none. A field that isn't there is null.
type Condition struct {
	Field string
	Op    Operator
	Value any // becomes JSON
}

// Eq holds when the field equals value.
func Eq(field string, value any) Condition { return Condition{field, OperatorEq, value} }

// Ne holds when the field doesn't equal value.
func Ne(field string, value any) Condition { return Condition{field, OperatorNe, value} }

// Gt holds when the field is greater than value.
func Gt(field string, value any) Condition { return Condition{field, OperatorGt, value} }

// Gte holds when the field is greater than or equals value.
func Gte(field string, value any) Condition { return Condition{field, OperatorGte, value} }

// Lt holds when the field is less than value.
func Lt(field string, value any) Condition { return Condition{field, OperatorLt, value} }

// Lte holds when the field is less than or equals value.
func Lte(field string, value any) Condition { return Condition{field, OperatorLte, value} }

// Filter is a prepared list of conditions.
type Filter struct {
	tests []test
}

type test struct {
	path  path
	op    Operator
	value any
}

// NewFilter prepares conditions. It returns an error that is [ErrInvalid] when a field is no path, an operator is unknown, or
// a value can't become JSON.
func NewFilter(conditions []Condition) (Filter, error) {
	var f Filter
	for _, c := range conditions {
		p, err := parsePath(c.Field)
		if err != nil {
			return Filter{}, err
		}
		what := "condition on field " + shown(c.Field)
		switch c.Op {
		case OperatorEq, OperatorNe, OperatorGt, OperatorGte, OperatorLt, OperatorLte:
		default:
			return Filter{}, &QueryError{What: what, Reason: fmt.Sprintf("has the operator %q; it must be one of $eq, $ne, $gt, $gte, $lt, $lte", c.Op)}
		}
		data, err := json.Marshal(c.Value)
		if err != nil {
			return Filter{}, &QueryError{What: what, Reason: "has a value that can't be encoded as JSON: " + err.Error()}
		}
		v, err := decode(data)
		if err != nil {
			return Filter{}, &QueryError{What: what, Reason: "has a value that can't be decoded from JSON: " + err.Error()}
		}
		f.tests = append(f.tests, test{p, c.Op, v})
	}
	return f, nil
}

// Holds reports whether all conditions hold for a value. It returns an error when value is no JSON.
func (f Filter) Holds(value json.RawMessage) (bool, error) {
	if len(f.tests) == 0 {
		return true, nil
	}
	doc, err := decode(value)
	if err != nil {
		return false, err
	}
	for _, t := range f.tests {
		if !t.holds(doc) {
			return false, nil
		}
	}
	return true, nil
}

func (t test) holds(doc any) bool {
	if t.op == OperatorNe {
		return !test{t.path, OperatorEq, t.value}.holds(doc)
	}
	found := t.path.find(doc)
	if len(found) == 0 && !t.path.several() {
		found = []any{nil}
	}
	for _, v := range found {
		if t.op == OperatorEq {
			if equal(v, t.value) {
				return true
			}
			continue
		}
		c, ok := order(v, t.value)
		if ok && (t.op == OperatorGt && c > 0 || t.op == OperatorGte && c >= 0 || t.op == OperatorLt && c < 0 || t.op == OperatorLte && c <= 0) {
			return true
		}
	}
	return false
}

func (p path) several() bool {
	for _, s := range p {
		if s.kind == stepAll {
			return true
		}
	}
	return false
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		c, ok := order(a, b)
		return ok && c == 0
	}
	return a == b // null, booleans and strings; other types differ
}

// order compares two numbers or two strings.
func order(a, b any) (int, bool) {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return strings.Compare(a, b), ok
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		return compareNumbers(string(a), string(b)), true
	}
	return 0, false
}

// compareNumbers compares integers exactly and other numbers as 64-bit floating point. Both are as JSON writes them.
func compareNumbers(a, b string) int {
	if isInteger(a) && isInteger(b) {
		return compareIntegers(a, b)
	}
	// A number out of range is an infinity, which is what comparing needs.
	f, _ := strconv.ParseFloat(a, 64)
	g, _ := strconv.ParseFloat(b, 64)
	return cmp.Compare(f, g)
}

func isInteger(s string) bool { return !strings.ContainsAny(s, ".eE") }

// compareIntegers takes no longer than reading the digits, however many there are. JSON allows no zeros in front.
func compareIntegers(a, b string) int {
	x, negX := strings.CutPrefix(a, "-")
	y, negY := strings.CutPrefix(b, "-")
	negX, negY = negX && x != "0", negY && y != "0"
	switch {
	case negX && !negY:
		return -1
	case negY && !negX:
		return 1
	case negX:
		x, y = y, x
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// Tokens returns the searchable tokens of the item that a prepared put stores; see package fulltext.
func (op Op) Tokens() ([]string, error) {
	if op.NoText {
		return nil, nil
	}
	doc, err := decode(op.Value)
	if err != nil {
		return nil, err
	}
	var s fulltext.Segmenter
	for _, f := range op.Fields {
		p, err := parsePath(f)
		if err != nil {
			return nil, err
		}
		for _, v := range p.find(doc) {
			addText(&s, v)
		}
	}
	return s.Tokens(), nil
}

func addText(s *fulltext.Segmenter, v any) {
	switch v := v.(type) {
	case string:
		s.Add(v)
	case []any:
		for _, e := range v {
			addText(s, e)
		}
	case map[string]any:
		for _, e := range members(v) {
			addText(s, e)
		}
	}
}
