package telemetry

// noGPU is a GPU of which nothing is known, and why.
type noGPU struct{ reason string }

func (n noGPU) use([]int32) gpuUse { return gpuUse{Reason: n.reason} }

func (noGPU) close() {}
