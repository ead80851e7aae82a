//go:build !unix

package tools

const openNonblock = 0

func isNotDir(error) bool { return false }
