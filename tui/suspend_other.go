//go:build !unix

package tui

// suspend does nothing where there is no job control.
func suspend() {}
