package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrOptions says that no recorder can be as the options want it.
var ErrOptions = errors.New("telemetry: unusable options")

// Bounds of [Options.SampleInterval].
const (
	defaultInterval = 200 * time.Millisecond
	minInterval     = 10 * time.Millisecond
)

// closeLimit is the longest that the end of a run waits for an endpoint, and for a system that does not answer a question about
// memory.
const closeLimit = 1500 * time.Millisecond

// Options are the settings of a recorder. The zero value records into the folder, sends nothing, and tells nothing.
type Options struct {
	Model string  // name of the model, for spans and the start of tasks; at best without its folder
	Shape KVShape // of the model's KV cache; zero: unknown, bytes are recorded as 0

	SampleInterval time.Duration // between two samples of memory, at least 10 ms; 0: 200 ms; negative: no samples
	OTLPEndpoint   string        // URL of an OpenTelemetry collector; empty: nothing is sent
	Secrets        []string      // texts that appear in no record, such as the values of environment variables that name keys

	Clock  func() time.Time // default: time.Now
	Logger *slog.Logger     // is told once what cannot be recorded; default: discards
}

func (o Options) withDefaults() Options {
	if o.SampleInterval == 0 {
		o.SampleInterval = defaultInterval
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	if o.SampleInterval > 0 && o.SampleInterval < minInterval {
		return fmt.Errorf("%w: a sample interval of %s is too short; at least %s are needed between two samples of memory", ErrOptions, o.SampleInterval, minInterval)
	}
	return o.Shape.validate()
}

// A Recorder writes the records of a run. A nil Recorder is valid and does nothing, as do its nil tasks. It is safe for concurrent
// use.
type Recorder struct {
	model  string
	shape  KVShape
	redact redactor
	clock  func() time.Time
	log    *slog.Logger
	start  time.Time

	inference, tools, lifecycle, memory, kv *file

	sampler *sampler // nil: no samples
	spans   *spans   // nil: no endpoint
	told    sync.Once
	closed  atomic.Bool

	mu   sync.Mutex
	open []*Task // that have not ended, in the order in which they began
}

// Open starts a recorder in a folder, which is created when it is missing. It fails only when the options are impossible
// ([ErrOptions]): an unwritable folder is told through the logger, and the recorder goes on without it. The caller closes it.
func Open(dir string, o Options) (*Recorder, error) { return open(dir, o, osDisk{}) }

func open(dir string, o Options, d disk) (*Recorder, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, fmt.Errorf("%w: there is no folder for the records; set telemetry.output_dir", ErrOptions)
	}
	var endpoint *url.URL
	if o.OTLPEndpoint != "" {
		var err error
		if endpoint, err = parseEndpoint(o.OTLPEndpoint); err != nil {
			return nil, err
		}
	}
	err := os.MkdirAll(dir, dirMode)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%w: the folder of the records %q is a file, or lies below one; choose another one", ErrOptions, dir)
	}
	r := &Recorder{model: o.Model, shape: o.Shape, redact: newRedactor(o.Secrets), clock: o.Clock, log: o.Logger, start: o.Clock()}
	if err != nil {
		r.tell(fmt.Errorf("creating the folder %q: %w", dir, reason(err)))
	}
	r.model = r.redact.text(o.Model)
	file := func(name string, header []byte) *file {
		return &file{path: filepath.Join(dir, name), header: header, disk: d, now: o.Clock}
	}
	r.inference, r.tools, r.lifecycle = file(InferenceFile, nil), file(ToolFile, nil), file(LifecycleFile, nil)
	r.memory, r.kv = file(MemoryFile, memoryHeader()), file(KVFile, kvHeader())
	if endpoint != nil {
		if r.spans, err = newSpans(endpoint, r.model, r.redact, o.Logger); err != nil {
			return nil, err
		}
	}
	if o.SampleInterval > 0 {
		r.sampler = newSampler(o.SampleInterval, newMeter(), r.sample)
		r.sampler.Start()
	}
	return r, nil
}

// Close takes a last sample of memory, ends the tasks that have not ended as "interrupted", and sends what was not sent yet. It
// waits at most 2 s for an endpoint, less when ctx ends earlier: a ctx that is that of an
// interrupted run leaves no time at all. Later records are dropped; closing again does nothing.
func (r *Recorder) Close(ctx context.Context) {
	if r == nil {
		return
	}
	r.mu.Lock()
	open := slices.Clone(r.open)
	r.mu.Unlock()
	for _, t := range open {
		t.End("interrupted")
	}
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	if r.sampler != nil {
		r.sampler.Stop(ctx)
	}
	if r.closed.Swap(true) {
		return
	}
	if r.spans != nil {
		r.spans.close(ctx)
	}
}

// append writes to a file. The first failure of the recorder is told.
func (r *Recorder) append(f *file, lines []byte) {
	if r.closed.Load() {
		return
	}
	if err := f.append(lines); err != nil {
		r.tell(err)
	}
}

func (r *Recorder) tell(err error) {
	r.told.Do(func() {
		r.log.Warn("telemetry is incomplete: a record could not be written, and what belongs into the same file is no longer recorded; "+
			"make room or choose another folder (telemetry.output_dir)", "error", err)
	})
}

// stamp is when something is recorded, on the wall and since the start.
func (r *Recorder) stamp() (at string, nanos int64) {
	now := r.clock()
	return formatTime(now), now.Sub(r.start).Nanoseconds()
}

func (r *Recorder) sample(u usage) {
	at, nanos := r.stamp()
	r.append(r.memory, row(at, nanos, u.PID, u.Processes, u.RSS, u.PeakRSS, u.TreeRSS, u.CPUSeconds, u.CPUPercent, u.Available,
		u.GPU.Reason == "", u.GPU.Bytes, u.GPU.Reason))
}

func memoryHeader() []byte {
	return row("timestamp_utc", "monotonic_ns", "pid", "processes", "rss_bytes", "peak_rss_bytes", "tree_rss_bytes", "cpu_seconds",
		"cpu_percent", "available_bytes", "gpu_supported", "gpu_bytes", "gpu_reason")
}

func kvHeader() []byte {
	return row("timestamp_utc", "monotonic_ns", "task_id", "phase", "used_tokens", "capacity_tokens", "positions", "used_bytes", "capacity_bytes")
}
