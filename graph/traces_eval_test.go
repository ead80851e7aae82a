package graph_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// traceEnv is what the computed values of a scenario refer to.
type traceEnv struct {
	input any // of the node, or the state for a branch
	vars  map[string]any
	item  any
	visit int
}

// eval computes a value. Objects with one key that starts with $ are computed, everything else is as written.
func (e traceEnv) eval(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = e.eval(item)
		}
		return out
	case map[string]any:
		if len(v) == 1 {
			for key, arg := range v {
				if strings.HasPrefix(key, "$") {
					return e.compute(key, arg)
				}
			}
		}
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = e.eval(item)
		}
		return out
	}
	return v
}

func (e traceEnv) compute(key string, arg any) any {
	switch key {
	case "$in":
		in, _ := e.input.(map[string]any)
		return in[arg.(string)]
	case "$input":
		return e.input
	case "$var":
		return e.vars[arg.(string)]
	case "$item":
		return e.item
	case "$visit":
		return float64(e.visit)
	case "$get":
		return e.get(arg.([]any))
	case "$add":
		sum := 0.0
		for _, v := range arg.([]any) {
			sum += traceNumber(e.eval(v))
		}
		return sum
	case "$cat":
		var b strings.Builder
		for _, v := range arg.([]any) {
			b.WriteString(traceText(e.eval(v)))
		}
		return b.String()
	case "$len":
		return traceLen(e.eval(arg))
	case "$overwrite":
		return overwriteValue{e.eval(arg)}
	}
	panic(traceBug("no such value: " + key))
}

func (e traceEnv) get(args []any) any {
	key := e.eval(args[1])
	switch from := e.eval(args[0]).(type) {
	case map[string]any:
		return from[key.(string)]
	case []any:
		if i := int(key.(float64)); i >= 0 && i < len(from) {
			return from[i]
		}
	}
	return nil
}

func traceNumber(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	panic(traceBug(fmt.Sprintf("%v is no number", v)))
}

func traceText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	panic(traceBug(fmt.Sprintf("%v can't be part of a text", v)))
}

func traceLen(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		return float64(len([]rune(v)))
	case []any:
		return float64(len(v))
	case map[string]any:
		return float64(len(v))
	}
	panic(traceBug(fmt.Sprintf("%v has no length", v)))
}

func (e traceEnv) holds(cond any) bool {
	for key, arg := range cond.(map[string]any) {
		if key == "not" {
			return !e.holds(arg)
		}
		pair := arg.([]any)
		a, b := e.eval(pair[0]), e.eval(pair[1])
		switch key {
		case "eq":
			return reflect.DeepEqual(a, b)
		case "lt":
			if s, ok := a.(string); ok {
				return s < b.(string)
			}
			return traceNumber(a) < traceNumber(b)
		}
	}
	panic(traceBug(fmt.Sprintf("no such condition: %v", cond)))
}

// traceTarget is a node to run: by name, or with a private input.
type traceTarget struct {
	node string
	send bool
	arg  any
}

// targets lists the nodes that a TARGETS names.
func (e traceEnv) targets(v any) []traceTarget {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []traceTarget{{node: v}}
	case []any:
		var all []traceTarget
		for _, item := range v {
			all = append(all, e.targets(item)...)
		}
		return all
	case map[string]any:
		node := v["send"].(string)
		each, ok := v["each"]
		if !ok {
			return []traceTarget{{node: node, send: true, arg: e.eval(v["arg"])}}
		}
		items, _ := e.eval(each).([]any)
		var all []traceTarget
		for _, item := range items {
			e.item = item
			all = append(all, traceTarget{node: node, send: true, arg: e.eval(v["arg"])})
		}
		return all
	}
	panic(traceBug(fmt.Sprintf("no such target: %v", v)))
}
