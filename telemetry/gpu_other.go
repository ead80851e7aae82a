//go:build !linux

package telemetry

import "runtime"

func openGPU() gpu {
	if runtime.GOOS == "darwin" {
		return noGPU{"this build does not ask Metal; on Apple silicon, GPU memory is part of rss_bytes"}
	}
	return noGPU{"GPU memory is not measured on " + runtime.GOOS}
}
