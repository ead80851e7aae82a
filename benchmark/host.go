package benchmark

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/llama-agent/llama-agent/app"
)

// ThisHost describes this machine.
func ThisHost(ctx context.Context) HostInfo {
	h := HostInfo{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: "unknown", CPUs: runtime.NumCPU(), MemoryBytes: app.ThisMachine().TotalBytes}
	if list, err := cpu.InfoWithContext(ctx); err == nil && len(list) > 0 && list[0].ModelName != "" {
		h.CPU = list[0].ModelName
	}
	return h
}

// ErrModel says that the model cannot be loaded, so that there is nothing to measure.
var ErrModel = errors.New("benchmark: the model cannot be loaded")

// modelInfo identifies a model file. Reading it takes seconds; ctx ends that.
func modelInfo(ctx context.Context, path string) (ModelInfo, error) {
	info := ModelInfo{Name: filepath.Base(path)}
	file, err := os.Open(path)
	if err != nil {
		return info, fmt.Errorf("%w: %w; check engine.model_path", ErrModel, err)
	}
	defer file.Close()
	hash := sha256.New()
	untilDone := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return file.Read(p)
	})
	if info.Bytes, err = io.CopyBuffer(hash, untilDone, make([]byte, 1<<20)); err != nil {
		if ctx.Err() != nil {
			return info, ctx.Err()
		}
		return info, fmt.Errorf("%w: reading %q: %w; check engine.model_path", ErrModel, path, reason(err))
	}
	info.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return info, nil
}

// readerFunc is a reader that is one function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
