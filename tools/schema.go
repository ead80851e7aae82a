package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// defaultMaxLength bounds strings without a maxlen in their tag, in characters.
const defaultMaxLength = 500

// Func makes a tool from a function whose arguments are the struct A. Parameters and Core of spec are derived from A:
//
//   - json tags give names; fields with omitempty are optional;
//   - jsonschema tags give descriptions;
//   - arg tags hold comma-separated settings: min=N and max=N for numbers, minlen=N and maxlen=N for strings (in
//     characters), enum=a|b|c, default=V, and core for an optional argument that belongs to [Spec.Essential].
//
// The function gets A with the defaults filled in.
func Func[A any](spec Spec, call func(ctx context.Context, args A) (Result, error)) (Tool, error) {
	schema, core, err := schemaFor(reflect.TypeFor[A]())
	if err != nil {
		return nil, fmt.Errorf("deriving the arguments of tool %q: %w", spec.Name, err)
	}
	spec.Parameters, spec.Core = schema, core
	defaults, err := defaultsOf(schema)
	if err != nil {
		return nil, fmt.Errorf("collecting the defaults of tool %q: %w", spec.Name, err)
	}
	return funcTool{spec: spec, call: func(ctx context.Context, raw json.RawMessage) (Result, error) {
		var args A
		if err := json.Unmarshal(defaults, &args); err != nil {
			return Result{}, fmt.Errorf("reading the defaults of tool %q: %w", spec.Name, err)
		}
		if len(bytes.TrimSpace(raw)) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return Result{}, &Error{Kind: KindInvalidArguments, Message: fmt.Sprintf("reading the arguments of %s: %v", spec.Name, err)}
			}
		}
		return call(ctx, args)
	}}, nil
}

// mustFunc is Func for the built-in argument structs, whose mistakes are bugs.
func mustFunc[A any](spec Spec, call func(ctx context.Context, args A) (Result, error)) Tool {
	spec.Origin = cmp.Or(spec.Origin, "built in")
	tool, err := Func(spec, call)
	if err != nil {
		panic(err)
	}
	return tool
}

type funcTool struct {
	spec Spec
	call func(ctx context.Context, raw json.RawMessage) (Result, error)
}

func (t funcTool) Spec() Spec { return t.spec }

func (t funcTool) Call(ctx context.Context, args json.RawMessage) (Result, error) {
	return t.call(ctx, args)
}

// schemaFor returns the closed schema of a struct type, and the names of its fields marked core.
func schemaFor(t reflect.Type) (*jsonschema.Schema, []string, error) {
	schema, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, nil, err
	}
	if t.Kind() != reflect.Struct || schema.Type != "object" {
		return nil, nil, fmt.Errorf("%s is not a struct", t)
	}
	var core []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if property == nil {
			return nil, nil, fmt.Errorf("field %s of %s needs a json tag with a name", field.Name, t)
		}
		if i := slices.Index(property.Types, "null"); i >= 0 && len(property.Types) == 2 {
			// A pointer only tells "not given" from zero.
			property.Type, property.Types = property.Types[1-i], nil
		}
		isCore, err := applyTag(property, field.Tag.Get("arg"))
		if err != nil {
			return nil, nil, fmt.Errorf("field %s of %s: %w", field.Name, t, err)
		}
		if isCore {
			core = append(core, name)
		}
	}
	return schema, core, nil
}

func applyTag(property *jsonschema.Schema, tag string) (core bool, err error) {
	for setting := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
		var err error
		switch key {
		case "":
		case "core":
			core = true
		case "min":
			property.Minimum, err = parsePointer(value, parseFloat)
		case "max":
			property.Maximum, err = parsePointer(value, parseFloat)
		case "minlen":
			property.MinLength, err = parsePointer(value, strconv.Atoi)
		case "maxlen":
			property.MaxLength, err = parsePointer(value, strconv.Atoi)
		case "enum":
			for choice := range strings.SplitSeq(value, "|") {
				property.Enum = append(property.Enum, choice)
			}
		case "default":
			if property.Type == "string" {
				property.Default, err = json.Marshal(value)
			} else if property.Default = json.RawMessage(value); !json.Valid(property.Default) {
				err = fmt.Errorf("%q is not JSON", value)
			}
		default:
			err = errors.New("unknown setting")
		}
		if err != nil {
			return false, fmt.Errorf("arg setting %q: %w", setting, err)
		}
	}
	if property.Type == "string" && property.MaxLength == nil && property.Enum == nil {
		property.MaxLength = jsonschema.Ptr(defaultMaxLength)
	}
	return core, nil
}

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

func parsePointer[T any](s string, parse func(string) (T, error)) (*T, error) {
	v, err := parse(s)
	return &v, err
}

// defaultsOf returns the JSON object of all defaults of a schema.
func defaultsOf(schema *jsonschema.Schema) (json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for name, property := range schema.Properties {
		if property.Default != nil {
			values[name] = property.Default
		}
	}
	return json.Marshal(values)
}

// propertyOrder returns the names of all properties: first the declared order, then the rest by name.
func propertyOrder(schema *jsonschema.Schema) []string {
	order := make([]string, 0, len(schema.Properties))
	for _, name := range schema.PropertyOrder {
		if _, ok := schema.Properties[name]; ok && !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return order
}
