package telemetry

import (
	"context"
	"sync"
	"time"
)

// maxShare is the largest part of one core that sampling may take. A sample that takes long makes the next one later.
const maxShare = 5

// A sampler measures at an interval, in a goroutine of its own. Start and Stop may be called more than once and from anywhere.
type sampler struct {
	interval time.Duration
	meter    meter
	record   func(usage)

	mu   sync.Mutex
	stop chan struct{} // closed by Stop; nil: not running
	done chan struct{} // closed when the goroutine is gone
}

// A meter measures this process. It is used by one goroutine at a time.
type meter interface {
	measure() usage
	close()
}

func newSampler(interval time.Duration, m meter, record func(usage)) *sampler {
	return &sampler{interval: interval, meter: m, record: record}
}

// Start takes a sample at once, and then at the interval. It does nothing when the sampler runs.
func (s *sampler) Start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return
	}
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run(s.stop, s.done)
}

// Stop takes a last sample and returns when the goroutine is gone, or when ctx ends because a measurement hangs in the system: then
// the goroutine ends with the measurement. It does nothing when the sampler does not run.
func (s *sampler) Stop(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		return
	}
	close(s.stop)
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	s.stop, s.done = nil, nil
}

func (s *sampler) run(stop, done chan struct{}) {
	defer close(done)
	defer s.meter.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			s.record(s.meter.measure())
			return
		case <-timer.C:
		}
		begun := time.Now()
		s.record(s.meter.measure())
		timer.Reset(max(s.interval, (maxShare-1)*time.Since(begun)))
	}
}
