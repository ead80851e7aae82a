//go:build cgo && !nollama

package llama

import (
	"errors"
	"fmt"
)

// maxDepth of nested arrays and objects. llama.cpp walks through them recursively, and a stack overflow ends the process.
const maxDepth = 200

func checkDepth(jsonText []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(jsonText); i++ {
		switch c := jsonText[i]; {
		case inString:
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("JSON is nested more than %d deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func (r *ChatRequest) checkDepth() error {
	errs := []error{checkDepth(r.Schema)}
	for _, t := range r.Tools {
		errs = append(errs, checkDepth(t.Function.Parameters))
	}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			errs = append(errs, checkDepth([]byte(c.Function.Arguments)))
		}
	}
	return errors.Join(errs...)
}
