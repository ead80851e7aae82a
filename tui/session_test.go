package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

func TestMain(m *testing.M) {
	// tview leaves its reader of events behind when a panic goes through its loop; the process is about to end then.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rivo/tview.(*Application).Run.func2"))
}

// talker is a model that plans no tool, and then says what says does.
type talker struct {
	says func(ctx context.Context, write func(string)) error
}

func (m *talker) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	if _, constrained := o.Metadata["json_schema"].(json.RawMessage); constrained {
		return reply(`{"steps":[{"do":"say","tool":"none"}]}`), nil
	}
	var said strings.Builder
	err := m.says(ctx, func(text string) {
		said.WriteString(text)
		if o.StreamingFunc != nil {
			_ = o.StreamingFunc(ctx, []byte(text))
		}
	})
	return reply(said.String()), err
}

func reply(text string) *llms.ContentResponse {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop"}}}
}

func (m *talker) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}
func (m *talker) Close() error { return nil }

// sitting is an interface that runs on a screen in memory.
type sitting struct {
	*UI
	t      *testing.T
	sim    *memoryScreen
	chat   *app.Chat
	ended  chan error
	cancel context.CancelFunc
}

func sit(t *testing.T, m *talker, loaded error) *sitting {
	t.Helper()
	dir := t.TempDir()
	c, err := config.Load(config.Options{Dir: dir, UserConfigDir: filepath.Join(dir, "none")})
	require.NoError(t, err)
	s := &sitting{t: t, sim: newMemoryScreen(), ended: make(chan error, 1)}
	s.UI = New(Options{Screen: s.sim, Settings: Settings{Mouse: true}})
	s.chat, err = app.OpenChat(t.Context(), app.ChatOptions{Options: app.Options{
		Config: c, Prefill: s.Prefill, Loading: s.Loading,
		OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (app.Model, error) {
			return m, loaded
		},
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	t.Cleanup(func() {
		cancel()
		require.NoError(t, s.chat.Close())
	})
	go func() { s.ended <- s.Run(ctx, s.chat) }()
	<-s.sim.shown
	return s
}

func (s *sitting) see(text string) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(s.sim.String(), text) {
		require.True(s.t, time.Now().Before(deadline), "%q was not shown:\n%s", text, s.sim.String())
		time.Sleep(time.Millisecond)
	}
}

func (s *sitting) types(text string) {
	for _, r := range text {
		if r == '\r' {
			s.sim.InjectKey(tcell.KeyEnter, 0, tcell.ModNone)
			continue
		}
		s.sim.InjectKey(tcell.KeyRune, r, tcell.ModNone)
	}
}

func (s *sitting) leave() error {
	s.t.Helper()
	s.sim.InjectKey(tcell.KeyCtrlQ, 0, tcell.ModCtrl)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(30 * time.Second):
		s.t.Fatal("the interface does not end")
		return nil
	}
}

func TestASitting(t *testing.T) {
	t.Parallel()
	s := sit(t, &talker{says: func(_ context.Context, write func(string)) error {
		write("Hello ")
		write("you.")
		return nil
	}}, nil)
	s.see("the model is ready")
	s.types("hi\r")
	s.see("Hello you.")
	s.see("done in")
	require.NoError(t, s.leave())
	turns, err := s.chat.Turns(t.Context())
	require.NoError(t, err)
	require.Len(t, turns, 1)
}

// A key is shown although a model streams without end: what it says waits in a box, and is drawn frame by frame.
func TestKeysDoNotWaitForAStream(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	said := 0
	s := sit(t, &talker{says: func(ctx context.Context, write func(string)) error {
		for ctx.Err() == nil {
			write("word ")
			mu.Lock()
			said++
			mu.Unlock()
			time.Sleep(100 * time.Microsecond) // faster than any model here
		}
		return ctx.Err()
	}}, nil)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return said
	}
	s.see("the model is ready")
	s.types("go\r")
	s.see("word word")
	text := ""
	for i := range 20 {
		text += string(rune('a' + i))
		before := count()
		s.types(string(rune('a' + i)))
		s.see("› " + text + " ")
		require.Less(t, count()-before, 10_000, "a key was shown before about a second of stream had passed")
	}
	require.ErrorIs(t, s.leave(), ErrInterrupted)
}

func TestAnIdleInterfaceDrawsNothing(t *testing.T) {
	t.Parallel()
	s := sit(t, &talker{says: func(context.Context, func(string)) error { return nil }}, nil)
	s.see("the model is ready")
	draws := func() int {
		done := make(chan int, 1)
		s.view.QueueUpdate(func() { done <- s.draws })
		return <-done
	}
	settled, same := draws(), 0
	for deadline := time.Now().Add(30 * time.Second); same < 50; {
		require.True(t, time.Now().Before(deadline), "it never rests")
		time.Sleep(2 * time.Millisecond)
		if now := draws(); now != settled {
			settled, same = now, 0
			continue
		}
		same++
	}
	s.types("x")
	s.see("› x")
	require.LessOrEqual(t, draws()-settled, 2)
	s.sim.InjectMouse(3, 3, tcell.ButtonNone, tcell.ModNone)
	before := draws()
	s.sim.InjectMouse(4, 4, tcell.ButtonNone, tcell.ModNone)
	require.LessOrEqual(t, draws()-before, 1, "moving the mouse is nothing to draw")
	require.NoError(t, s.leave())
}

func TestAPanicLeavesTheTerminalFirst(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(*UI, *atomic.Bool){
		"in a worker": func(u *UI, _ *atomic.Bool) { u.jobs.post(func(context.Context) message { panic("broken") }) },
		"in the loop": func(u *UI, clock *atomic.Bool) {
			clock.Store(true)
			u.mail.post(tickMsg{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c, err := config.Load(config.Options{Dir: dir, UserConfigDir: filepath.Join(dir, "none")})
			require.NoError(t, err)
			finished := newMemoryScreen()
			var clock atomic.Bool // it panics when it is read
			u := New(Options{Screen: finished, Now: func() time.Time {
				if clock.Load() {
					panic("broken")
				}
				return time.Now()
			}})
			chat, err := app.OpenChat(t.Context(), app.ChatOptions{Options: app.Options{Config: c}})
			require.NoError(t, err)
			defer func() { require.NoError(t, chat.Close()) }()
			panicked := make(chan string, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				defer func() { panicked <- fmt.Sprint(recover()) }()
				_ = u.Run(ctx, chat)
			}()
			<-finished.shown
			hurt(u, &clock)
			require.Contains(t, <-panicked, "broken")
			require.True(t, finished.done())
		})
	}
}

// memoryScreen is a screen in memory. What it shows is read by its text only, which other goroutines may ask for.
type memoryScreen struct {
	tcell.SimulationScreen
	shown chan struct{} // closed when it has shown something
	once  sync.Once

	mu       sync.Mutex
	text     string
	finished bool // it was given back
}

func newMemoryScreen() *memoryScreen {
	return &memoryScreen{SimulationScreen: tcell.NewSimulationScreen("UTF-8"), shown: make(chan struct{})}
}

func (m *memoryScreen) Show() {
	m.SimulationScreen.Show()
	content, width, _ := m.GetContents()
	var b strings.Builder
	for i, c := range content {
		b.WriteString(string(c.Runes))
		if (i+1)%width == 0 {
			b.WriteByte('\n')
		}
	}
	m.mu.Lock()
	m.text = b.String()
	m.mu.Unlock()
	m.once.Do(func() { close(m.shown) })
}

func (m *memoryScreen) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text
}

func (m *memoryScreen) Fini() {
	m.mu.Lock()
	m.finished = true
	m.mu.Unlock()
	m.SimulationScreen.Fini()
}

func (m *memoryScreen) done() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.finished
}

func TestTheContextEndsTheInterface(t *testing.T) {
	t.Parallel()
	s := sit(t, &talker{says: func(ctx context.Context, _ func(string)) error {
		<-ctx.Done()
		return ctx.Err()
	}}, nil)
	s.see("the model is ready")
	s.types("go\r")
	s.see("answering")
	s.cancel()
	require.ErrorIs(t, <-s.ended, context.Canceled)
	turns, err := s.chat.Turns(t.Context())
	require.NoError(t, err)
	require.Equal(t, "interrupted", string(turns[0].Status))
}

func TestATerminalThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	u := New(Options{Screen: brokenScreen{tcell.NewSimulationScreen("UTF-8")}})
	require.ErrorContains(t, u.Run(t.Context(), nil), "opening the terminal: no tty; use llama-agent chat")
}

type brokenScreen struct{ tcell.SimulationScreen }

func (brokenScreen) Init() error { return errors.New("no tty") }

func TestTheStatusIsAskedForNowAndThen(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	u := New(Options{Now: func() time.Time { return now }, Refresh: time.Second})
	var asked int
	u.perform = func(effects []effect) {
		for _, e := range effects {
			if _, is := e.(statusEffect); is {
				asked++
				u.asked, u.askedAt = true, now
			}
		}
	}
	u.receive(tickMsg{})
	now = now.Add(time.Minute)
	u.receive(tickMsg{})
	require.Equal(t, 1, asked, "the answer has not come")
	u.receive(statusMsg{})
	u.receive(tickMsg{})
	require.Equal(t, 2, asked)
	u.receive(statusMsg{})
	now = now.Add(time.Second / 2)
	u.receive(tickMsg{})
	require.Equal(t, 2, asked, "it is too early")
}
