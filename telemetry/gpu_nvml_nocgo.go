//go:build linux && !cgo

package telemetry

func openGPU() gpu {
	return noGPU{"this build has no cgo, without which NVIDIA's library cannot be asked"}
}
