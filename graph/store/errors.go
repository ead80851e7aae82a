package store

import (
	"errors"
	"fmt"
)

// Sentinels for [errors.Is].
var (
	ErrNotFound = errors.New("store: not found")
	ErrInvalid  = errors.New("store: invalid")
	ErrClosed   = errors.New("store: closed")
)

// NotFoundError names the item that doesn't exist or has expired. It is [ErrNotFound].
type NotFoundError struct {
	Namespace Namespace
	Key       string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("namespace %q has no item %q", []string(e.Namespace), e.Key)
}

func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// NameError says why a namespace or key is refused. It is [ErrInvalid].
type NameError struct {
	What   string // such as "key" or "namespace element 2"
	Name   string // as given, whatever its length
	Reason string
}

func (e *NameError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s %s", e.What, e.Reason)
	}
	return fmt.Sprintf("%s %s %s", e.What, shown(e.Name), e.Reason)
}

func (e *NameError) Is(target error) bool { return target == ErrInvalid }

// ValueError says why a value is refused. It is [ErrInvalid].
type ValueError struct {
	Namespace Namespace
	Key       string
	Reason    string
	Err       error // of the encoder or parser, or nil
}

func (e *ValueError) Error() string {
	s := fmt.Sprintf("the value of item %s in %q %s", shown(e.Key), []string(e.Namespace), e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *ValueError) Unwrap() error { return e.Err }

func (e *ValueError) Is(target error) bool { return target == ErrInvalid }

// QueryError says why a query or the path of a field is refused. It is [ErrInvalid].
type QueryError struct {
	What   string // such as "limit" or "field \"a..b\""
	Reason string
}

func (e *QueryError) Error() string { return e.What + " " + e.Reason }

func (e *QueryError) Is(target error) bool { return target == ErrInvalid }

// shown quotes a name, cut where it is long.
func shown(name string) string {
	const limit = 80
	if len(name) > limit {
		return fmt.Sprintf("%q…", name[:limit])
	}
	return fmt.Sprintf("%q", name)
}
