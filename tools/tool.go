package tools

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Tool is one function that a model can call. Implementations are safe for concurrent use and return soon after ctx
// ends. [Func] makes one from a Go function.
type Tool interface {
	// Spec describes the tool. It returns the same value at every call; callers don't change it.
	Spec() Spec
	// Call runs the tool. The arguments have passed the schema of the Spec: [Registry.Call] sees to that. Errors that
	// the model should read are *[Error]. A result returned beside an error holds what was found before it.
	Call(ctx context.Context, args json.RawMessage) (Result, error)
}

// A Spec is what a model and a user are told about a tool.
type Spec struct {
	Name        string // lower case letters, digits and underscores; unique in a registry
	Description string // one sentence
	// Parameters is a closed object schema: properties in PropertyOrder, every string and number bounded, and a default
	// where an optional argument has one.
	Parameters *jsonschema.Schema
	// Core names the optional arguments that are worth asking a small model for. See Essential.
	Core []string
	// Takes says what the tool is for, so that a plan can be kept to tools that fit; nil: anything. It is no permission:
	// a call with another kind of file gives an error that names the right tool.
	Takes []Subject
	// Path names the required argument that is the file, folder or artifact; empty when there is none.
	Path     string
	ReadOnly bool     // nothing outside the process changes, so that a call may be repeated
	Origin   string   // where the tool comes from: "built in", or a file
	Limits   []string // one human-readable line each
}

// Fits reports whether the tool takes a subject.
func (s Spec) Fits(subject Subject) bool {
	return s.Takes == nil || slices.Contains(s.Takes, subject) || subject == SubjectLog && slices.Contains(s.Takes, SubjectText)
}

// Subject is what a call is about.
type Subject string

// The subjects.
const (
	SubjectText     Subject = "text"     // a text file, compressed or not
	SubjectLog      Subject = "log"      // a text file that can be a log; what takes text takes it too
	SubjectDatabase Subject = "database" // a SQLite file
	SubjectTable    Subject = "table"    // a text file with rows and columns
	SubjectOther    Subject = "other"    // any other file
	SubjectFolder   Subject = "folder"
	SubjectArtifact Subject = "artifact" // a stored result, by its reference
	SubjectMemory   Subject = "memory"   // what was said and found before and is not in the prompt
	SubjectFact     Subject = "fact"     // something that the user states, as opposed to asks
	SubjectNone     Subject = "none"     // no file in particular
)

// IsText reports whether a subject is a text file of any kind.
func (s Subject) IsText() bool { return s == SubjectText || s == SubjectLog || s == SubjectTable }

// KindTable is the kind of a text file that describe_sqlite_table can describe. Its name alone does not tell, so list_files does not know it.
const KindTable = "table"

// MayBeTable tells by its kind as list_files gives it, and its path, whether a file is worth looking for rows and columns in.
func MayBeTable(kind, file string) bool {
	return (kind == "text" || kind == "gzip") && hasTableName(file) && SubjectOf(kind, file) == SubjectText
}

// SubjectOf tells which subject a file is, by its kind as list_files gives it or KindTable, and its path.
func SubjectOf(kind, file string) Subject {
	switch kind {
	case "text", "empty", "gzip":
		if mayBeLog(file) {
			return SubjectLog
		}
		return SubjectText
	case "sqlite":
		return SubjectDatabase
	case KindTable:
		return SubjectTable
	case "folder":
		return SubjectFolder
	}
	return SubjectOther
}

// otherFormats are the endings of files that hold data, settings, documents or programs. What is missing here is taken for a possible
// log, so that no log is kept from the tools for it.
var otherFormats = strings.Fields(`.csv .tsv .json .toml .ini .cfg .conf .yaml .yml .xml .html .htm .md .rst .tex .ipynb .env .properties .lock .diff .patch
	.py .go .js .mjs .ts .tsx .jsx .c .h .cc .cpp .hpp .cs .java .kt .rs .rb .php .pl .lua .r .jl .swift .scala .sh .bash .ps1 .bat .sql .css .scss .vue .proto .mod .sum`)

// mayBeLog tells by its name whether a text file can be a log. What is called a log, or lies in a folder that is, always can.
func mayBeLog(file string) bool {
	file = strings.TrimSuffix(strings.ToLower(file), ".gz")
	words := strings.FieldsFunc(file, func(r rune) bool { return strings.ContainsRune("/._- ", r) })
	return slices.Contains(words, "log") || slices.Contains(words, "logs") || !slices.Contains(otherFormats, path.Ext(file))
}

// Essential returns the closed schema of the arguments that a small model should be asked for: the required ones and
// those in Core, in the order of Parameters. Every object that fits it fits Parameters too. The caller
// may change the lists and maps of the result and its properties, but not what they point to.
func (s Spec) Essential() *jsonschema.Schema {
	out := s.Parameters.CloneSchemas()
	keep := map[string]bool{}
	for _, name := range s.Parameters.Required {
		keep[name] = true
	}
	for _, name := range s.Core {
		keep[name] = true
	}
	properties := make(map[string]*jsonschema.Schema, len(keep))
	var order []string
	for _, name := range propertyOrder(s.Parameters) {
		if keep[name] {
			properties[name] = out.Properties[name]
			order = append(order, name)
		}
	}
	out.Properties, out.PropertyOrder, out.Required = properties, order, slices.Clone(out.Required)
	return out
}

// A Result is what a call found.
type Result struct {
	// Data is a struct or map that marshals to a JSON object, for programs. Its strings are valid UTF-8, but may hold
	// control characters.
	Data any
	// Text is for the model: facts first, valid UTF-8, control characters made visible (see [InertText]).
	Text string
}

// Kind classifies an [Error].
type Kind string

// The kinds of errors.
const (
	KindNotFound         Kind = "not_found"
	KindDenied           Kind = "denied"
	KindInvalidArguments Kind = "invalid_arguments"
	KindWrongKind        Kind = "wrong_kind" // the thing exists, but another tool is for it
	KindTimeout          Kind = "timeout"
	KindLimit            Kind = "limit"
	KindFailed           Kind = "failed"
	KindUnknownTool      Kind = "unknown_tool"
)

// An Error tells the model why a call did not work and what to do instead.
type Error struct {
	Kind    Kind
	Message string // the thing and the reason
	Fix     string // what to do; may be empty
	Instead string // the tool that does with the same file what was wanted; empty when none surely does
	Final   bool   // no other call can do it either
	Data    any    // partial results or facts for programs; may be nil
}

// Error returns the message and the fix in one line.
func (e *Error) Error() string {
	text := e.Message
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}
