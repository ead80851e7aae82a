package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/llama-agent/llama-agent/telemetry"
)

func Example() {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	now := time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
	r, err := telemetry.Open(dir, telemetry.Options{Model: "small", SampleInterval: -1, Clock: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	task := r.Task("t1")
	task.Tool("executor", telemetry.ToolCall{Tool: "read_file", DurationMS: 1.5, InputBytes: 20, OutputBytes: 900, ReadOnly: true})
	task.End("done")
	r.Close(context.Background())

	line, err := os.ReadFile(filepath.Join(dir, telemetry.ToolFile))
	if err != nil {
		panic(err)
	}
	fmt.Print(string(line))
	// Output: {"timestamp_utc":"2024-05-01T08:00:00.000000000Z","monotonic_ns":0,"task_id":"t1","phase":"executor","event":"tool_call","tool":"read_file","duration_ms":1.5,"input_bytes":20,"output_bytes":900,"error_kind":"","artifact_id":"","read_only":true,"skipped":false}
}

// A nil recorder does nothing, so that what records needs no conditions.
func ExampleRecorder() {
	var off *telemetry.Recorder
	task := off.Task("t1")
	task.Event("executor", "context_compacted", map[string]any{"tokens_before": 9000, "tokens_after": 700})
	task.End("done")
	off.Close(context.Background())
	// Output:
}

func ExampleRedact() {
	fmt.Println(telemetry.Redact("psql postgres://me:hunter2@db/shop --token blue", "blue"))
	// Output: psql postgres://[redacted]@db/shop --token [redacted]
}
