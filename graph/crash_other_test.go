//go:build !unix

package graph_test

// The crash tests need SIGKILL.

func crashMain() (code int, ok bool) { return 0, false }
func killsMain() (code int, ok bool) { return 0, false }
