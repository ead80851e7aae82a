//go:build !unix

package graph_test

// crashMain does nothing: the crash test needs SIGKILL.
func crashMain() (code int, ok bool) { return 0, false }
