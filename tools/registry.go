package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Limits bound every call made through a [Registry]. Zero fields take the defaults.
type Limits struct {
	Timeout        time.Duration // of one call; 30 s
	MaxOutputChars int           // of Result.Text, in characters; 300000
}

func (l Limits) withDefaults() Limits {
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	l.MaxOutputChars = cmp.Or(l.MaxOutputChars, 300_000)
	return l
}

// A Registry is an ordered set of tools with distinct names. It does not change after it is made and is safe for
// concurrent use.
type Registry struct {
	tools  []registered
	limits Limits
}

type registered struct {
	tool Tool
	spec Spec
}

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// NewRegistry returns a registry of the tools, in the order given, with the default [Limits]. It reports every tool
// whose name is malformed or taken, or whose schema is not a closed object.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{limits: Limits{}.withDefaults()}
	var problems []error
	for _, tool := range tools {
		spec := tool.Spec()
		if err := checkSpec(spec); err != nil {
			problems = append(problems, err)
			continue
		}
		if _, taken := r.Lookup(spec.Name); taken {
			problems = append(problems, fmt.Errorf("tool %q is registered twice; rename one", spec.Name))
			continue
		}
		r.tools = append(r.tools, registered{tool: tool, spec: spec})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return r, nil
}

func checkSpec(spec Spec) error {
	if !toolName.MatchString(spec.Name) {
		return fmt.Errorf("tool name %q: use lower case letters, digits and underscores, starting with a letter", spec.Name)
	}
	if spec.Parameters == nil || spec.Parameters.Type != "object" || spec.Parameters.AdditionalProperties == nil {
		return fmt.Errorf("tool %q: its parameters must be a closed object schema (additionalProperties: false)", spec.Name)
	}
	if spec.Path != "" && (!slices.Contains(spec.Parameters.Required, spec.Path) || spec.Parameters.Properties[spec.Path].Type != "string") {
		return fmt.Errorf("tool %q: Path %q must be a required argument that is a string", spec.Name, spec.Path)
	}
	return nil
}

// WithLimits returns a registry of the same tools under other limits.
func (r *Registry) WithLimits(limits Limits) *Registry {
	return &Registry{tools: r.tools, limits: limits.withDefaults()}
}

// Specs returns the specs in order. The slice is the caller's.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, len(r.tools))
	for i, t := range r.tools {
		specs[i] = t.spec
	}
	return specs
}

// Names returns the tool names in order. The slice is the caller's.
func (r *Registry) Names() []string {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.spec.Name
	}
	return names
}

// Lookup returns the tool of exactly this name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	t, ok := r.find(name)
	return t.tool, ok
}

func (r *Registry) find(name string) (registered, bool) {
	for _, t := range r.tools {
		if t.spec.Name == name {
			return t, true
		}
	}
	return registered{}, false
}

// Only returns a registry of the named tools, in the order of r. Every unknown name is reported, as an [*Error] with
// the nearest names; several are joined.
func (r *Registry) Only(names ...string) (*Registry, error) {
	wanted := map[string]bool{}
	var problems []error
	for _, name := range names {
		if _, ok := r.find(name); !ok {
			problems = append(problems, r.unknown(name))
		}
		wanted[name] = true
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	out := &Registry{limits: r.limits}
	for _, t := range r.tools {
		if wanted[t.spec.Name] {
			out.tools = append(out.tools, t)
		}
	}
	return out, nil
}

func (r *Registry) unknown(name string) *Error {
	names := r.Names()
	err := &Error{
		Kind:    KindUnknownTool,
		Message: fmt.Sprintf("there is no tool %q", InertText(clip(name, 80))),
		Data:    map[string]any{"tools": names},
	}
	if len(names) == 0 {
		err.Fix = "no tools are available; answer without one"
		return err
	}
	err.Fix = "the tools are " + strings.Join(names, ", ")
	if near := nearest(name, names, 2); len(near) > 0 {
		err.Fix = "did you mean " + quoteList(near, " or ") + "? " + err.Fix
	}
	return err
}

// Validate checks arguments against the schema of a tool and returns them as canonical JSON: compact, keys in the order
// of the schema, without what equals a default, so that equal calls have equal bytes. Errors are *[Error] and say which
// argument is wrong and which ones there are.
//
// Missing arguments (no text, null, or an empty string) mean {} when the tool requires none. An optional argument that
// is null, or that is empty where the schema forbids that, counts as not given. Letter case does not matter in the choices
// of an enum.
func (r *Registry) Validate(name string, args json.RawMessage) (json.RawMessage, error) {
	t, ok := r.find(name)
	if !ok {
		return nil, r.unknown(name)
	}
	canonical, err := canonicalArguments(t.spec, args)
	if err != nil {
		return nil, err
	}
	return canonical, nil
}

// Call validates the arguments and runs the tool under the registry's limits. The error is an *[Error] for the model,
// or ctx.Err() when the caller's context has ended; a result beside it holds what was found before. A panic of the tool
// becomes an Error. The text of the result is inert (see [InertText]) and cut at the limit, which it then says.
func (r *Registry) Call(ctx context.Context, name string, args json.RawMessage) (Result, error) {
	t, ok := r.find(name)
	if !ok {
		return Result{}, r.unknown(name)
	}
	canonical, problem := canonicalArguments(t.spec, args)
	if problem != nil {
		return Result{}, problem
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	callCtx, cancel := context.WithTimeout(ctx, r.limits.Timeout)
	defer cancel()
	result, err := callSafely(callCtx, t, canonical)
	result.Text = capText(InertText(result.Text), r.limits.MaxOutputChars)
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	if toolErr, ok := errors.AsType[*Error](err); ok {
		return result, toolErr.inert()
	}
	if errors.Is(err, context.DeadlineExceeded) || callCtx.Err() != nil {
		return result, &Error{
			Kind:    KindTimeout,
			Message: fmt.Sprintf("%s did not finish within %s and was stopped", name, r.limits.Timeout),
			Fix:     "ask for less at once",
		}
	}
	return result, (&Error{Kind: KindFailed, Message: err.Error()}).inert()
}

func callSafely(ctx context.Context, t registered, args json.RawMessage) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result = Result{}
			err = &Error{
				Kind:    KindFailed,
				Message: fmt.Sprintf("%s stopped because of a bug in it: %v", t.spec.Name, v),
				Fix:     "use another tool",
				Data:    map[string]any{"stack": string(debug.Stack())},
			}
		}
	}()
	return t.tool.Call(ctx, args)
}

// inert returns e with its texts made inert. Messages quote file names and data.
func (e *Error) inert() *Error {
	out := *e
	out.Message, out.Fix = InertText(e.Message), InertText(e.Fix)
	return &out
}
