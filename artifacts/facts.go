package artifacts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Fact is something that is known of a result without reading it, such as total_lines: 20000.
type Fact struct {
	Name  string
	Value string
}

// MarshalJSON writes [name, value].
func (f Fact) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{f.Name, f.Value}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Fact) UnmarshalJSON(data []byte) error {
	var pair [2]string
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	f.Name, f.Value = pair[0], pair[1]
	return nil
}

// Bounds of facts. A longer text is content, not a fact about it.
const (
	maxFacts      = 64
	maxFactName   = 64  // bytes
	maxFactValue  = 200 // characters
	maxFactLevels = 3   // of objects in objects
)

// FactsOf returns the scalar facts of a result object, in its own order: numbers, booleans and short texts of one line by their
// names, those of objects inside as outer.inner, and for lists their length. It leaves out what is null or empty, and longer
// texts. The object is marshalled; it must give a JSON object, or null for no facts.
func FactsOf(object any) ([]Fact, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("collecting facts: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	c := factCollector{dec: dec}
	token, err := dec.Token()
	if err == nil && token == nil {
		return nil, nil
	}
	if err == nil && token != json.Delim('{') {
		err = errors.New("the result is no object")
	}
	if err == nil {
		err = c.object("", 1)
	}
	if err != nil {
		return nil, fmt.Errorf("collecting facts: %w", err)
	}
	return c.facts, nil
}

type factCollector struct {
	dec   *json.Decoder
	facts []Fact
}

func (c *factCollector) add(name, value string) {
	if len(c.facts) < maxFacts && value != "" && len(name) <= maxFactName {
		c.facts = append(c.facts, Fact{Name: name, Value: value})
	}
}

// object reads the members of an object whose brace has been read.
func (c *factCollector) object(prefix string, level int) error {
	for c.dec.More() {
		key, err := c.dec.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("a key is %v", key)
		}
		if err := c.value(prefix+name, level); err != nil {
			return err
		}
	}
	_, err := c.dec.Token()
	return err
}

func (c *factCollector) value(name string, level int) error {
	var raw json.RawMessage
	if err := c.dec.Decode(&raw); err != nil {
		return err
	}
	switch raw[0] {
	case '{':
		if level == maxFactLevels {
			return nil
		}
		inner := factCollector{dec: json.NewDecoder(bytes.NewReader(raw)), facts: c.facts}
		if _, err := inner.dec.Token(); err != nil {
			return err
		}
		err := inner.object(name+".", level+1)
		c.facts = inner.facts
		return err
	case '[':
		n, err := lengthOf(raw)
		if err == nil && n > 0 {
			c.add(name, plural(n, "item"))
		}
		return err
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		if utf8.RuneCountInString(text) <= maxFactValue && !strings.ContainsAny(text, "\n\r") {
			c.add(name, text)
		}
	case 'n':
	default:
		c.add(name, string(raw))
	}
	return nil
}

// lengthOf counts the elements of a JSON array.
func lengthOf(raw json.RawMessage) (int, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return 0, err
	}
	n := 0
	for ; dec.More(); n++ {
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	return n, nil
}

// cleanFacts bounds facts that somebody else made, and makes them lines that can be shown.
func cleanFacts(facts []Fact) []Fact {
	var out []Fact
	for _, f := range facts[:min(len(facts), maxFacts)] {
		value := f.Value
		if utf8.RuneCountInString(value) > maxFactValue {
			value = string([]rune(value)[:maxFactValue-1]) + "…"
		}
		// showing can make a text longer, but not without bound
		out = append(out, Fact{Name: oneLine(f.Name, maxFactName), Value: oneLine(value, 8*maxFactValue)})
	}
	return out
}

// summary returns facts as lines "name: value", each whole, of at most limit characters together. One that does not fit is left
// out.
func summary(facts []Fact, limit int) string {
	var b strings.Builder
	used := 0
	for _, f := range facts {
		line := f.Name + ": " + f.Value + "\n"
		n := utf8.RuneCountInString(line)
		if used+n > limit {
			continue
		}
		used += n
		b.WriteString(line)
	}
	return b.String()
}

// plural returns "1 line", "2 lines".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
