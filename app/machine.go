package app

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/llama-agent/llama-agent/engine"
)

// Machine is what the checks need to know about the computer. Byte counts are 0 when the system does not tell.
type Machine struct {
	TotalBytes     int64 // memory of the machine, or of the container that limits it
	AvailableBytes int64 // of that, what programs can still get
	PhysicalCores  int   // that this process may use
	Engine         engine.BuildInfo
	// FreeDiskBytes returns the free space of the file system that holds an existing folder.
	FreeDiskBytes func(folder string) int64
}

// ThisMachine asks the operating system and llama.cpp.
func ThisMachine() Machine {
	m := Machine{PhysicalCores: engine.PhysicalCores(), Engine: EngineBuild(), FreeDiskBytes: freeDisk}
	if v, err := mem.VirtualMemory(); err == nil {
		m.TotalBytes, m.AvailableBytes = int64(v.Total), int64(v.Available)
	}
	if limit, used, ok := containerMemory("/sys/fs/cgroup"); ok {
		if m.TotalBytes == 0 || limit < m.TotalBytes {
			m.TotalBytes = limit
		}
		m.AvailableBytes = min(m.AvailableBytes, max(limit-used, 0))
	}
	return m
}

// EngineBuild describes the llama.cpp that is linked in.
func EngineBuild() engine.BuildInfo { return engine.Build() }

// containerMemory reads the limit and the use of the control group mounted at root (version 2, then 1). Page cache
// that the kernel would drop does not count as used.
func containerMemory(root string) (limit, used int64, ok bool) {
	for _, files := range [][2]string{
		{"memory.max", "memory.current"},
		{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"},
	} {
		limit, okLimit := readNumber(filepath.Join(root, files[0]))
		used, okUsed := readNumber(filepath.Join(root, files[1]))
		if !okLimit || !okUsed || limit >= math.MaxInt64/2 {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Join(root, files[0])), "memory.stat"))
		for line := range strings.Lines(string(stat)) {
			if value, found := strings.CutPrefix(line, "inactive_file "); found {
				cache, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
				used -= cache
			}
		}
		return limit, max(used, 0), true
	}
	return 0, 0, false
}

// readNumber reads a file that holds one number; "max" is no number.
func readNumber(path string) (int64, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

func freeDisk(folder string) int64 {
	usage, err := disk.Usage(folder)
	if err != nil {
		return 0
	}
	return int64(usage.Free)
}
