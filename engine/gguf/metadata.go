package gguf

import (
	"math"
	"strings"
)

// kind is the type of a metadata value, numbered as in enum gguf_type of ggml/include/gguf.h.
type kind uint32

const (
	kindUint8 kind = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindArray
	kindUint64
	kindInt64
	kindFloat64
	kindCount
)

var kindNames = [kindCount]string{"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "arr", "u64", "i64", "f64"}

func (k kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return "unknown"
}

// size is the number of bytes of a value in the file, 0 for strings, arrays and unknown kinds.
func (k kind) size() uint64 {
	switch k {
	case kindUint8, kindInt8, kindBool:
		return 1
	case kindUint16, kindInt16:
		return 2
	case kindUint32, kindInt32, kindFloat32:
		return 4
	case kindUint64, kindInt64, kindFloat64:
		return 8
	}
	return 0
}

// value is one metadata value. Long texts and long arrays are counted but not kept.
type value struct {
	kind  kind
	elem  kind   // of an array
	count uint64 // elements of an array
	num   int64  // an integer or a boolean; meaningless for floats
	text  string
	items []int64 // the elements of a short array of integers or booleans
}

// metadata holds the key/value pairs of a header.
type metadata map[string]value

// text returns a string value, or "" when the key is absent or something else.
func (m metadata) text(key string) string {
	if v := m[key]; v.kind == kindString {
		return v.text
	}
	return ""
}

// integer returns a non-negative integer value, at most math.MaxInt32, or 0 when the key is absent or something else.
func (m metadata) integer(key string) int {
	v := m[key]
	switch v.kind {
	case kindString, kindArray, kindFloat32, kindFloat64:
		return 0
	}
	return clamp(v.num)
}

// clamp keeps absurd numbers absurd but free of overflow in later sums.
func clamp(n int64) int {
	return int(min(max(n, 0), math.MaxInt32))
}

// float returns a 32-bit float, and whether the key is there with that type.
func (m metadata) float(key string) (float32, bool) {
	v, ok := m[key]
	return math.Float32frombits(uint32(v.num)), ok && v.kind == kindFloat32
}

// length returns the number of elements of an array of strings, or 0.
func (m metadata) length(key string) int {
	if v := m[key]; v.kind == kindArray && v.elem == kindString && v.count <= maxArrayItems {
		return int(v.count)
	}
	return 0
}

// perLayer returns a value that is given once for all layers (or parts of one) or as an array with an element for each.
// It returns nil when the key is absent, when there is no plausible number of layers, or when the array is not kept.
func (m metadata) perLayer(key string, layers int) []int {
	v, ok := m[key]
	if !ok || layers <= 0 || layers > maxLayers {
		return nil
	}
	values := make([]int, layers)
	if v.kind != kindArray {
		for i := range values {
			values[i] = m.integer(key)
		}
		return values
	}
	if len(v.items) != layers {
		return nil
	}
	for i, n := range v.items {
		values[i] = clamp(n)
	}
	return values
}

// mentionsTools reports whether a Jinja template uses a name such as tools or custom_tools in a statement or expression;
// comments and literal text do not count.
func mentionsTools(template string) bool {
	for template != "" {
		start := strings.IndexByte(template, '{')
		if start < 0 || start+1 >= len(template) {
			return false
		}
		end := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[template[start+1]]
		if end == "" {
			template = template[start+1:]
			continue
		}
		inside, rest, _ := strings.Cut(template[start+2:], end)
		if end != "#}" && hasWord(inside, "tools") {
			return true
		}
		template = rest
	}
	return false
}

// hasWord reports whether text contains word not followed by a letter, a digit or an underscore, and not preceded by
// a letter or a digit.
func hasWord(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = text[i-1]
		}
		if j := i + len(word); j < len(text) {
			after = text[j]
		}
		if !isAlnum(before) && !isAlnum(after) && after != '_' {
			return true
		}
		text = text[i+len(word):]
	}
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
