//go:build !unix

package benchmark

import "os"

// holdLock only makes the file here.
func holdLock(path string) error { return os.WriteFile(path, nil, 0o600) }
