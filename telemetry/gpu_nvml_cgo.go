//go:build linux && cgo

package telemetry

import (
	"fmt"
	"os"
	"slices"

	"github.com/ebitengine/purego"
)

// nvml is NVIDIA's management library, loaded while the program runs. The module go-nvml is not used: it leaves the library's names
// unresolved in the program, so that one that was linked with "-z now", the default of several distributions, does not start on a
// machine without the library; and it hides every other unresolved name from the linker.
type nvml struct {
	handle   uintptr
	devices  []uintptr
	own      bool // this process is in a PID namespace of its own, in which the driver's process numbers mean nothing
	shutdown func() int32
	text     func(int32) string
	compute  processList
	graphics processList // nil: not known to this driver
}

// A processList is nvmlDeviceGet…RunningProcesses_v2 or _v3, which have the same types.
type processList func(device uintptr, count *uint32, infos *nvmlProcess) int32

// nvmlProcess is nvmlProcessInfo_v2_t of nvml.h.
type nvmlProcess struct {
	pid  uint32
	used uint64 // bytes; nvmlUnknown: not told
	_    uint32 // gpuInstanceId
	_    uint32 // computeInstanceId
}

// Constants of nvml.h.
const (
	nvmlSuccess     = 0
	nvmlTooSmall    = 7                 // NVML_ERROR_INSUFFICIENT_SIZE
	nvmlUnsupported = 3                 // NVML_ERROR_NOT_SUPPORTED
	nvmlUnknown     = uint64(1<<64 - 1) // NVML_VALUE_NOT_AVAILABLE
	nvmlLibrary     = "libnvidia-ml.so.1"
	initialPIDs     = "pid:[4026531836]" // PROC_PID_INIT_INO of linux/proc_ns.h: the namespace of the whole machine
)

func openGPU() gpu {
	space, err := os.Readlink("/proc/self/ns/pid")
	return openNVML(nvmlLibrary, err == nil && space != initialPIDs)
}

func openNVML(library string, own bool) gpu {
	handle, err := purego.Dlopen(library, purego.RTLD_LAZY|purego.RTLD_LOCAL)
	if err != nil {
		return noGPU{"NVIDIA's library " + library + " cannot be loaded; on a machine without an NVIDIA GPU there is none"}
	}
	n := &nvml{handle: handle, own: own}
	if err := n.init(); err != nil {
		n.close()
		return noGPU{"NVIDIA's library " + library + ": " + err.Error()}
	}
	return n
}

func (n *nvml) init() error {
	var begin func() int32
	var count func(*uint32) int32
	var device func(uint32, *uintptr) int32
	if !n.bind(&n.text, "nvmlErrorString") || !n.bind(&begin, "nvmlInit_v2") || !n.bind(&count, "nvmlDeviceGetCount_v2") ||
		!n.bind(&device, "nvmlDeviceGetHandleByIndex_v2") ||
		!n.bind(&n.compute, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2") {
		return fmt.Errorf("it is too old to tell the memory of processes")
	}
	n.bind(&n.graphics, "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2")
	if code := begin(); code != nvmlSuccess {
		return n.error("starting it", code)
	}
	n.bind(&n.shutdown, "nvmlShutdown")
	var devices uint32
	if code := count(&devices); code != nvmlSuccess {
		return n.error("counting GPUs", code)
	}
	for i := range devices {
		var d uintptr
		if code := device(i, &d); code != nvmlSuccess {
			return n.error(fmt.Sprintf("opening GPU %d", i), code)
		}
		n.devices = append(n.devices, d)
	}
	return nil
}

// bind makes a Go function of the first of names that the library has.
func (n *nvml) bind(function any, names ...string) bool {
	for _, name := range names {
		if address, err := purego.Dlsym(n.handle, name); err == nil {
			purego.RegisterFunc(function, address)
			return true
		}
	}
	return false
}

func (n *nvml) error(doing string, code int32) error {
	return fmt.Errorf("%s: %s (%d)", doing, n.text(code), code)
}

func (n *nvml) use(pids []int32) gpuUse {
	var total gpuUse
	found := false
	for i, d := range n.devices {
		// A process that computes and draws may be in both lists, with the same memory.
		used := map[uint32]uint64{}
		for _, list := range []processList{n.compute, n.graphics} {
			if list == nil {
				continue
			}
			infos, code := n.processes(list, d)
			if code == nvmlUnsupported {
				return gpuUse{Reason: "this GPU does not tell the memory of processes"}
			}
			if code != nvmlSuccess {
				return gpuUse{Reason: n.error(fmt.Sprintf("asking GPU %d", i), code).Error()}
			}
			for _, p := range infos {
				if !slices.Contains(pids, int32(p.pid)) {
					continue
				}
				if p.used == nvmlUnknown {
					return gpuUse{Reason: "the driver does not tell the memory of processes"}
				}
				found = true
				used[p.pid] = max(used[p.pid], p.used)
			}
		}
		for _, bytes := range used {
			total.Bytes += int64(bytes)
		}
	}
	if !found && n.own {
		return gpuUse{Reason: "this process runs in a container, where the driver's process numbers are not known"}
	}
	return total
}

// processes asks again with more room when processes were started in between.
func (n *nvml) processes(list processList, device uintptr) ([]nvmlProcess, int32) {
	infos := make([]nvmlProcess, 64)
	for range 4 {
		count := uint32(len(infos))
		code := list(device, &count, &infos[0])
		if code == nvmlTooSmall {
			infos = make([]nvmlProcess, max(2*len(infos), int(min(count, 1<<16))))
			continue
		}
		return infos[:min(int(count), len(infos))], code
	}
	return nil, nvmlTooSmall
}

// close leaves the library loaded when it does not say that it has ended, because its threads may still run.
func (n *nvml) close() {
	if n.shutdown == nil || n.shutdown() == nvmlSuccess {
		purego.Dlclose(n.handle) //nolint:errcheck // what cannot be unloaded stays
	}
}
