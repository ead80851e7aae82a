//go:build !cgo || nollama

package engine

// runRole runs the test binary as another process with an engine, which this build has none of.
func runRole() bool { return false }
