package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// hostIdentity joins what must agree for process numbers to be comparable: the machine's boot and the process
// namespace. Two containers of one machine share the boot but not the namespace.
func hostIdentity() string {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join([]string{name, strings.TrimSpace(string(boot)), space}, " ")
}

// processStart returns the start time of a process in clock ticks since boot (field 22 of proc_pid_stat(5)) and
// whether the process is alive. A process that has ended but wasn't waited for isn't.
func processStart(pid int) (start string, alive bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	// The second field is the command in parentheses and may contain anything.
	_, rest, ok := strings.Cut(string(data[strings.LastIndexByte(string(data), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", true
	}
	switch fields[0] {
	case "Z", "X", "x":
		return "", false
	}
	return fields[19], true
}
