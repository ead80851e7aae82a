package tools

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxSkillYAML bounds a command skill and the front matter of a guide, in bytes.
const maxSkillYAML = 64 << 10

// yamlLine finds the position in an error of the YAML parser.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parseYAML reads one YAML document into a tree. Nothing in it is resolved or expanded: aliases stay what they are.
func parseYAML(text string) (*yaml.Node, *skillFault) {
	if strings.ContainsRune(text, 0) {
		return nil, fault(0, "save it as plain text", "it contains a NUL byte")
	}
	var document, next yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(text))
	err := dec.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		return nil, fault(0, "give name and description", "it is empty")
	}
	if err == nil {
		if err = dec.Decode(&next); errors.Is(err, io.EOF) {
			return document.Content[0], nil
		}
		if err == nil {
			return nil, fault(next.Line, "put each skill in a file of its own", "it has more than one YAML document")
		}
	}
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return nil, fault(0, "correct the YAML", "it is not valid YAML: %v", err)
	}
	line, _ := strconv.Atoi(match[1]) // 0 when there is none
	return nil, fault(line, "correct the YAML", "it is not valid YAML: %s", err.Error()[len(match[0]):])
}

// yamlFields are the entries of a YAML mapping. Reading one that is not as it must be keeps the first such fault; what is
// read after that means nothing.
type yamlFields struct {
	what   string // for messages: "the skill"
	line   int
	values map[string]*yaml.Node
	fault  *skillFault
}

// newYAMLFields reads a mapping. Keys other than the known ones are faults, unless known is nil.
func newYAMLFields(node *yaml.Node, what string, known []string) *yamlFields {
	f := &yamlFields{what: what, line: node.Line, values: map[string]*yaml.Node{}}
	if node.Kind != yaml.MappingNode {
		f.fail(node, "write it as lines of the form key: value", "%s is %s, not a mapping", what, yamlKind(node))
		return f
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name := key.Value
		switch {
		case known == nil && (key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str"):
			continue
		case key.Kind != yaml.ScalarNode:
			f.fail(key, "use plain keys", "a key of %s is %s", what, yamlKind(key))
		case known != nil && !slices.Contains(known, name):
			fix := "the keys are " + strings.Join(known, ", ")
			if near := nearest(name, known, 1); len(near) > 0 {
				fix = fmt.Sprintf("did you mean %q? %s", near[0], fix)
			}
			f.fail(key, fix, "%s has an unknown key %q", what, clip(name, 60))
		case f.values[name] != nil:
			f.fail(key, "keep one of them", "%s has the key %q twice", what, clip(name, 60))
		}
		f.values[name] = value
	}
	return f
}

func (f *yamlFields) fail(at *yaml.Node, fix, format string, args ...any) {
	if f.fault == nil {
		f.fault = fault(at.Line, fix, format, args...)
	}
}

// get returns a value that is there and not null.
func (f *yamlFields) get(key string) (*yaml.Node, bool) {
	node := f.values[key]
	return node, node != nil && node.ShortTag() != "!!null"
}

func (f *yamlFields) has(key string) bool {
	_, ok := f.get(key)
	return ok
}

// lineOf returns where a key's value is, or where the mapping begins.
func (f *yamlFields) lineOf(key string) int {
	if node := f.values[key]; node != nil {
		return node.Line
	}
	return f.line
}

// scalar returns the value of a key when it is a scalar of one of the tags.
func (f *yamlFields) scalar(key, wanted, fix string, tags ...string) *yaml.Node {
	node, ok := f.get(key)
	if !ok {
		return nil
	}
	if node.Kind != yaml.ScalarNode || !slices.Contains(tags, node.ShortTag()) {
		f.fail(node, fix, "%q of %s must be %s, not %s", key, f.what, wanted, yamlKind(node))
		return nil
	}
	return node
}

// text returns a string; "" when there is none.
func (f *yamlFields) text(key string) string {
	if node := f.scalar(key, "text", "put it in quotes", "!!str"); node != nil {
		return node.Value
	}
	return ""
}

func (f *yamlFields) flag(key string, otherwise bool) bool {
	if node := f.scalar(key, "true or false", "write true or false", "!!bool"); node != nil {
		return strings.EqualFold(node.Value, "true")
	}
	return otherwise
}

// number returns a finite number; nil when there is none.
func (f *yamlFields) number(key string) *float64 {
	node := f.scalar(key, "a number", "write a number without quotes", "!!int", "!!float")
	if node == nil {
		return nil
	}
	var n float64
	if err := node.Decode(&n); err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		f.fail(node, "write a plain number", "%q of %s is not a number: %q", key, f.what, clip(node.Value, 40))
		return nil
	}
	return &n
}

// items returns the entries of a list of at most most.
func (f *yamlFields) items(key string, most int) []*yaml.Node {
	node, ok := f.get(key)
	if !ok {
		return nil
	}
	switch {
	case node.Kind != yaml.SequenceNode:
		f.fail(node, "write it as lines that begin with -", "%q of %s must be a list, not %s", key, f.what, yamlKind(node))
		return nil
	case len(node.Content) > most:
		f.fail(node, "keep the important ones", "%q of %s has %d entries; at most %d are allowed", key, f.what, len(node.Content), most)
		return nil
	}
	return node.Content
}

// yamlKind names a value for a message.
func yamlKind(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (*" + clip(node.Value, 40) + ")"
	}
	switch node.ShortTag() {
	case "!!str":
		return fmt.Sprintf("the text %q", clip(node.Value, 40))
	case "!!null":
		return "empty"
	case "!!int", "!!float", "!!bool":
		return node.Value
	}
	return fmt.Sprintf("%q with the tag %s", clip(node.Value, 40), clip(node.ShortTag(), 40))
}
