package checkpoint

import (
	"os"
	"sync"
)

// Process identifies a running process well enough to tell whether it's gone: a number alone is reused.
type Process struct {
	Host  string `json:"host"` // this host, boot and process-number space; numbers compare only within one
	PID   int    `json:"pid"`
	Start string `json:"start"` // start time, in the host's own unit
}

var current = sync.OnceValue(func() Process {
	pid := os.Getpid()
	start, _ := processStart(pid)
	return Process{Host: hostIdentity(), PID: pid, Start: start}
})

// CurrentProcess identifies the calling process.
func CurrentProcess() Process { return current() }

// Gone reports whether p is known to have ended: it ran on this host and there is no such process any more. It
// reports false for processes of other hosts and when the host doesn't tell.
func (p Process) Gone() bool {
	if p.PID <= 0 || p.Host == "" || p.Host != CurrentProcess().Host {
		return false
	}
	start, alive := processStart(p.PID)
	if !alive {
		return true
	}
	return p.Start != "" && start != "" && start != p.Start
}
