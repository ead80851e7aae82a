//go:build !unix

package app

// peakRSS is not known here.
func peakRSS() int64 { return 0 }
