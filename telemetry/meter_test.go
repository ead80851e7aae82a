package telemetry

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMeterTellsTheUseOfThisProcess(t *testing.T) {
	t.Parallel()
	m := NewMeter()
	m.meter.openGPU = func() gpu { return noGPU{"there is none"} }
	defer m.Close()
	use := m.Measure()
	require.Greater(t, use.RSS, int64(1<<20), "a test takes more than 1 MiB")
	require.GreaterOrEqual(t, use.PeakRSS, use.RSS)
	require.Zero(t, use.CPUPercent, "there is no measurement before")
	require.Equal(t, "there is none", use.GPUReason)
	require.Zero(t, use.GPUBytes)
	m.Close()
}
