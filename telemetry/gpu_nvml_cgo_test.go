//go:build linux && cgo

package telemetry

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeNVML is a library of two GPUs. On the first, process 7 has 100 bytes for computing and 120 for drawing too; 8 has 1000. On the second,
// 7 has 5 bytes. CODE is what asking a GPU returns.
const fakeNVML = `
#include <stddef.h>
typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } info;
int nvmlInit_v2(void) { return INIT; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "something odd"; }
int nvmlDeviceGetCount_v2(unsigned int *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **d) { *d = (void *)(size_t)(i + 1); return 0; }
static int list(unsigned int *n, info *out, const info *in, unsigned int have) {
	if (*n < have) { *n = have; return 7; }
	for (unsigned int i = 0; i < have; i++) out[i] = in[i];
	*n = have;
	return CODE;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned int *n, info *out) {
	static info first[100];
	for (int i = 0; i < 100; i++) { first[i].pid = 1000 + i; first[i].used = 1 << 20; }
	first[98].pid = 7; first[98].used = 100;
	first[99].pid = 8; first[99].used = 1000;
	static const info second[] = {{7, 5, 0, 0}, {9, UNKNOWN, 0, 0}};
	return d == (void *)1 ? list(n, out, first, 100) : list(n, out, second, 2);
}
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *d, unsigned int *n, info *out) {
	static const info first[] = {{7, 120, 0, 0}};
	return list(n, out, first, d == (void *)1);
}
`

func buildNVML(t *testing.T, defines ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "nvml.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	require.NoError(t, os.WriteFile(source, []byte(fakeNVML), 0o600))
	args := append([]string{"-shared", "-fPIC", "-o", library, source, "-DUNKNOWN=0xffffffffffffffffull"}, defines...)
	out, err := exec.Command(cc, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return library
}

func TestNVML(t *testing.T) {
	t.Parallel()
	library := buildNVML(t, "-DINIT=0", "-DCODE=0")
	g := openNVML(library, false)
	require.Equal(t, gpuUse{Bytes: 125}, g.use([]int32{7}))
	require.Equal(t, gpuUse{Bytes: 1125}, g.use([]int32{8, 7}))
	require.Equal(t, gpuUse{}, g.use([]int32{77}), "a process that uses no GPU")
	require.Contains(t, g.use([]int32{9}).Reason, "does not tell")
	g.close()

	contained := openNVML(library, true)
	defer contained.close()
	require.Contains(t, contained.use([]int32{77}).Reason, "container")
	require.Equal(t, gpuUse{Bytes: 1000}, contained.use([]int32{8}), "where the numbers are known after all")
}

func TestNVMLThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		defines []string
		says    string
	}{
		"start":       {[]string{"-DINIT=9", "-DCODE=0"}, "starting it: something odd (9)"},
		"unsupported": {[]string{"-DINIT=0", "-DCODE=3"}, "does not tell"},
		"lost":        {[]string{"-DINIT=0", "-DCODE=15"}, "asking GPU 0: something odd (15)"},
		"old":         {[]string{"-DINIT=0", "-DCODE=0", "-DnvmlDeviceGetComputeRunningProcesses_v3=older"}, "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := openNVML(buildNVML(t, test.defines...), false)
			defer g.close()
			u := g.use([]int32{7})
			require.Zero(t, u.Bytes)
			require.Contains(t, u.Reason, test.says)
		})
	}
}

func TestNoNVML(t *testing.T) {
	t.Parallel()
	g := openNVML(filepath.Join(t.TempDir(), "none.so"), false)
	defer g.close()
	require.Contains(t, g.use(nil).Reason, "cannot be loaded")
}
