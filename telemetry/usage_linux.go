package telemetry

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// PeakRSS is the most memory that this process has had, in bytes; 0 when the system does not tell. The account of getrusage is not
// used: it begins with the peak of the process that started this one.
func PeakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// childrenOf reads the lists that the kernel keeps for each thread. Searching all processes of the machine takes a hundred times as
// long, and is left for kernels without these lists.
func childrenOf(pid int32) []int32 {
	tasks := filepath.Join("/proc", strconv.Itoa(int(pid)), "task")
	threads, err := os.ReadDir(tasks)
	if err != nil { // it has ended
		return nil
	}
	var pids []int32
	for _, thread := range threads {
		list, err := os.ReadFile(filepath.Join(tasks, thread.Name(), "children"))
		if os.IsNotExist(err) && !haveChildren() {
			return childrenBySearch(pid)
		}
		for _, field := range strings.Fields(string(list)) {
			if n, err := strconv.ParseInt(field, 10, 32); err == nil {
				pids = append(pids, int32(n))
			}
		}
	}
	return pids
}

// haveChildren reports whether the kernel keeps lists of children.
func haveChildren() bool {
	self := strconv.Itoa(syscall.Getpid())
	_, err := os.Stat(filepath.Join("/proc", self, "task", self, "children"))
	return err == nil
}
