//go:build cgo && !nollama

package llama

/*
#include "shim.h"
*/
import "C"

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// llama.cpp logs through one callback for the whole process, from any thread.
var (
	logTarget   atomic.Pointer[slog.Logger]
	backendOnce sync.Once
)

// Init prepares llama.cpp's back ends and sends its log to logger (nil: nowhere). Calls after the first only change the
// logger. Safe for concurrent use.
func Init(logger *slog.Logger) {
	logTarget.Store(logger)
	backendOnce.Do(func() { C.la_init() })
}

//export la_go_log
func la_go_log(level C.int, text *C.char) {
	logger := logTarget.Load()
	if logger == nil {
		return
	}
	line := strings.TrimSpace(C.GoString(text))
	if strings.Trim(line, ". ") == "" {
		return // progress dots
	}
	logger.Log(context.Background(), slogLevel(int(level)), line, "source", "llama.cpp")
}

// slogLevel maps ggml_log_level: 1 debug, 2 info, 3 warn, 4 error, 5 continuation of the last line. Whatever fails also
// comes back as an error of the call, and an abort that was asked for is logged as several errors, so that llama.cpp's
// own lines are only of use to somebody who looks for the cause of something.
func slogLevel(level int) slog.Level {
	if level == 4 {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// oneLine makes a message of several lines one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Version is llama.cpp's own version text.
func Version() string { return C.GoString(C.la_version()) }

// Build names llama.cpp's source, the compiler and the target of this build, and the features of the processor that it
// uses. What is computed depends on each of them in the last bits.
func Build() string { return take(C.la_build()) }

// Devices lists the devices of the linked back ends. Call Init before.
func Devices() []Device {
	var out []Device
	for line := range strings.Lines(take(C.la_devices())) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			continue
		}
		out = append(out, Device{Name: f[0], Description: f[1], Kind: f[2], FreeBytes: parseUint(f[3]), Bytes: parseUint(f[4])})
	}
	return out
}

func parseUint(s string) uint64 {
	var n uint64
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}
