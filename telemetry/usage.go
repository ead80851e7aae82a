package telemetry

import (
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"
)

// usage is what this process and its descendants use at one moment. What the system does not tell is 0.
type usage struct {
	PID       int
	Processes int // this one and its descendants

	RSS       int64 // bytes of this process in memory
	PeakRSS   int64 // the most that it ever had, by the system's own account; where there is none, the most that was sampled
	TreeRSS   int64 // of this process and its descendants; pages that they share count for each
	Available int64 // bytes that programs of the machine can still get

	// CPUSeconds is the processor time of this process and of all that it started, those included that have ended. It never
	// becomes less. CPUPercent is its growth since the sample before: 100 is one core.
	CPUSeconds float64
	CPUPercent float64

	GPU gpuUse
}

// gpuUse is the memory of GPUs that this process and its descendants have.
type gpuUse struct {
	Bytes  int64
	Reason string // why it is not known; empty: it is
}

// A gpu tells the use of GPU memory. Neither call fails, prints, or needs a GPU.
type gpu interface {
	use(pids []int32) gpuUse
	close()
}

// maxProcesses bounds the work of a sample. More descendants than these are not counted.
const maxProcesses = 256

// processMeter asks the operating system.
type processMeter struct {
	self    *process.Process
	openGPU func() gpu
	gpu     gpu // opened by the first sample: loading a driver takes long

	peak    int64     // the most that was sampled
	seconds float64   // of the sample before
	at      time.Time // of the sample before
}

func newMeter() *processMeter {
	return &processMeter{self: &process.Process{Pid: int32(os.Getpid())}, openGPU: openGPU}
}

func (m *processMeter) measure() usage {
	pid := m.self.Pid
	u := usage{PID: int(pid), Processes: 1, CPUSeconds: ownSeconds(m.self)}
	if info, err := m.self.MemoryInfo(); err == nil {
		u.RSS = int64(info.RSS)
	}
	u.TreeRSS = u.RSS
	pids := descendants(pid, childrenOf)
	for _, child := range pids {
		p := &process.Process{Pid: child}
		info, err := p.MemoryInfo()
		if err != nil { // it has ended
			continue
		}
		u.Processes++
		u.TreeRSS += int64(info.RSS)
		if t, err := p.Times(); err == nil {
			u.CPUSeconds += t.User + t.System
		}
	}
	m.peak = max(m.peak, u.RSS)
	u.PeakRSS = max(PeakRSS(), m.peak)
	if v, err := mem.VirtualMemory(); err == nil {
		u.Available = int64(v.Available)
	}
	m.percent(&u)
	if m.gpu == nil {
		m.gpu = m.openGPU()
	}
	u.GPU = m.gpu.use(append(pids, pid))
	return u
}

// percent completes processor time. The time of a process that ended is missing until its parent has asked for it.
func (m *processMeter) percent(u *usage) {
	now := time.Now()
	u.CPUSeconds = max(u.CPUSeconds, m.seconds)
	if passed := now.Sub(m.at).Seconds(); !m.at.IsZero() && passed > 0 {
		u.CPUPercent = 100 * (u.CPUSeconds - m.seconds) / passed
	}
	m.seconds, m.at = u.CPUSeconds, now
}

func (m *processMeter) close() {
	if m.gpu != nil {
		m.gpu.close()
		m.gpu = nil
	}
}

// descendants lists the processes below pid, each once, parents first.
func descendants(pid int32, children func(int32) []int32) []int32 {
	seen := map[int32]bool{pid: true}
	var found []int32
	for next := []int32{pid}; len(next) > 0; next = next[1:] {
		for _, child := range children(next[0]) {
			if seen[child] {
				continue
			}
			if len(found) == maxProcesses {
				return found
			}
			seen[child] = true
			found, next = append(found, child), append(next, child)
		}
	}
	return found
}

// childrenBySearch looks at the parent of every process of the machine.
func childrenBySearch(pid int32) []int32 {
	children, err := (&process.Process{Pid: pid}).Children()
	if err != nil {
		return nil
	}
	var pids []int32
	for _, c := range children {
		pids = append(pids, c.Pid)
	}
	return pids
}
