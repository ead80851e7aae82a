package benchmark

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the system kill the process of cmd when this one is killed, so that no program of a sample goes on beside
// the next run. The system goes by the thread that starts it, which the caller must keep.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
