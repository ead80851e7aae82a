package telemetry

// Use is what this process uses at one moment. What the system does not tell is 0.
type Use struct {
	RSS, PeakRSS int64   // bytes of this process in memory, and the most that it ever had
	CPUPercent   float64 // processor time since the measurement before, of this process and of those that it started; 100 is one core
	GPUBytes     int64   // memory of GPUs
	GPUReason    string  // why GPUBytes is not known; empty: it is
}

// Meter measures what this process uses. It is not safe for concurrent use. The first measurement loads the driver of the GPU, which
// may take a moment.
type Meter struct{ meter *processMeter }

// NewMeter returns a meter. It must be closed.
func NewMeter() *Meter { return &Meter{newMeter()} }

// Measure asks the operating system and the driver of the GPU.
func (m *Meter) Measure() Use {
	u := m.meter.measure()
	return Use{RSS: u.RSS, PeakRSS: u.PeakRSS, CPUPercent: u.CPUPercent, GPUBytes: u.GPU.Bytes, GPUReason: u.GPU.Reason}
}

// Close lets go of the driver. A second call does nothing.
func (m *Meter) Close() { m.meter.close() }
