package tui

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/tui/cells"
)

const (
	frame    = 33 * time.Millisecond  // between two drawings that no key asked for
	turn     = 150 * time.Millisecond // between two while something is under way and tells nothing
	patience = time.Second            // how long stopping may take before the user is told
	wakeKey  = tcell.KeyF64           // no terminal sends it
)

// Options say how the interface looks and what it stands on.
type Options struct {
	Settings Settings
	Theme    Theme
	Refresh  time.Duration    // between two updates of the status while something is under way; 0: 300 ms
	Screen   tcell.Screen     // default: the terminal of the process
	Now      func() time.Time // default: time.Now
	Logger   *slog.Logger     // default: discards
	Notices  []string         // shown at the start
	Stopping func()           // called when the terminal is back and a turn takes long to stop; may be nil
}

// UI is a full-screen interface. Its hooks may be called from any goroutine at any time; Run is called once.
type UI struct {
	options Options
	view    *tview.Application
	screen  *screen
	mail    mailbox[message]

	// Of the goroutine of tview.
	state     *State
	asked     bool      // the status was asked for and has not come
	askedAt   time.Time // when it was asked for last
	draws     int       // for tests
	perform   func([]effect)
	busy      atomic.Bool // something is under way, so that time matters
	wakeful   atomic.Bool // a wake is on its way to tview
	jobs      mailbox[func(context.Context) message]
	workers   sync.WaitGroup
	mu        sync.Mutex
	stopWork  context.CancelFunc // of the task or loading that is under way; nil: there is none
	task      bool               // it is a task
	crash     error              // what a goroutine panicked with
	cancelRun context.CancelFunc
}

// mailbox passes things on to one goroutine. Senders never wait.
type mailbox[T any] struct {
	mu    sync.Mutex
	box   []T
	ready chan struct{} // has an element when the box may not be empty
}

func newMailbox[T any]() mailbox[T] { return mailbox[T]{ready: make(chan struct{}, 1)} }

func (m *mailbox[T]) post(t T) {
	m.mu.Lock()
	m.box = append(m.box, t)
	m.mu.Unlock()
	m.poke()
}

func (m *mailbox[T]) poke() {
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	box := m.box
	m.box = nil
	return box
}

// New returns an interface. Its hooks Loading, Prefill and Thinking are for [app.Options].
func New(o Options) *UI {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refresh <= 0 {
		o.Refresh = 300 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &UI{options: o, state: newState(o.Settings, o.Now()), mail: newMailbox[message](), jobs: newMailbox[func(context.Context) message]()}
}

// Loading is told the share of the model that is loaded, 0 to 1.
func (u *UI) Loading(share float32) { u.mail.post(loadingMsg{share}) }

// Prefill is told how many tokens of a prompt are read.
func (u *UI) Prefill(done, total int) { u.mail.post(prefillMsg{done, total}) }

// Thinking is told what the model thinks, piece by piece.
func (u *UI) Thinking(text string) { u.mail.post(thoughtMsg{text}) }

// ErrInterrupted says that the user left while a turn was under way.
var ErrInterrupted = errors.New("a turn was stopped when you left; its state is saved, and /resume goes on with it")

// Run shows the interface until the user leaves or ctx ends, and leaves the terminal as it was, also when something panics. A turn that is
// under way then is stopped, and waited for once the terminal is back, so that what was done is stored. The error is nil when the user
// left, [ErrInterrupted] when a turn was under way, that of ctx, or about the terminal.
func (u *UI) Run(ctx context.Context, chat *app.Chat) error {
	if err := u.open(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u.cancelRun = cancel
	u.perform = func(effects []effect) {
		for _, e := range effects {
			u.do(ctx, chat, e)
		}
	}
	u.view.SetInputCapture(func(e *tcell.EventKey) *tcell.EventKey {
		u.pressed(ctx, e)
		return nil
	})
	u.spawn(func() { u.look(ctx) })
	go u.pump(ctx) // not waited for: it may be about to wake an interface that has ended
	for _, text := range u.options.Notices {
		u.state.note(text)
	}
	u.perform(u.state.start())
	defer func() {
		if p := recover(); p != nil { // tview has given the terminal back; whoever closes the chat must find nobody using it
			cancel()
			u.stop()
			u.workers.Wait()
			panic(p)
		}
	}()
	err := u.view.Run()
	cause := context.Cause(ctx)
	cancel()
	interrupted := u.stop()
	slow := time.AfterFunc(patience, func() {
		if u.options.Stopping != nil && interrupted {
			u.options.Stopping()
		}
	})
	u.workers.Wait()
	slow.Stop()
	switch {
	case u.crash != nil:
		panic(u.crash)
	case err != nil:
		return fmt.Errorf("using the terminal: %w", err)
	case interrupted && cause == nil:
		return ErrInterrupted
	}
	return cause
}

// open takes the terminal.
func (u *UI) open() error {
	inner := u.options.Screen
	if inner == nil {
		var err error
		if inner, err = tcell.NewScreen(); err != nil {
			return fmt.Errorf("opening the terminal: %w; use llama-agent chat, or another value of TERM", err)
		}
	}
	if err := inner.Init(); err != nil {
		return fmt.Errorf("opening the terminal: %w; use llama-agent chat", err)
	}
	inner.EnablePaste()
	u.screen = &screen{Screen: inner, pasted: func(text string) { u.mail.post(pasteMsg{text}) }}
	u.setMouse(u.options.Settings.Mouse)
	root := &canvas{
		Box: tview.NewBox(), theme: u.options.Theme, paint: u.paint,
		mouse: func(m message) { u.receive(m) },
	}
	u.view = tview.NewApplication().SetScreen(u.screen).SetRoot(root, true)
	return nil
}

// paint shows the State in a terminal of a size.
func (u *UI) paint(width, height int) (*cells.Grid, cursor) {
	u.draws++
	if width != u.state.width || height != u.state.height {
		u.receive(sizeMsg{width, height})
	}
	return u.state.draw()
}

// pressed takes a key, or a wake. What came before it is dealt with before.
func (u *UI) pressed(ctx context.Context, e *tcell.EventKey) {
	u.wakeful.Store(false)
	if ctx.Err() != nil {
		u.view.Stop()
		return
	}
	for _, m := range u.mail.take() {
		u.receive(m)
	}
	if e.Key() == wakeKey {
		return
	}
	if k, ok := keyOf(e); ok {
		u.receive(keyMsg{k})
	}
}

// receive changes the State, and does what follows.
func (u *UI) receive(m message) {
	now := u.options.Now()
	switch m.(type) {
	case statusMsg:
		u.asked = false
	case tickMsg:
		if !u.asked && now.Sub(u.askedAt) >= u.options.Refresh {
			u.perform([]effect{statusEffect{}})
		}
	}
	u.perform(u.state.update(m, now))
	if busy := u.state.busy(); u.busy.Swap(busy) != busy {
		u.mail.poke()
	}
}

// pump wakes the interface when there is mail, and now and then while something is under way. Whatever comes, it is not drawn more often
// than people can see; keys do not wait for that.
func (u *UI) pump(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for ctx.Err() == nil {
		var tick <-chan time.Time
		if u.busy.Load() {
			pause.Reset(turn)
			tick = pause.C
		}
		select {
		case <-ctx.Done():
		case <-u.mail.ready:
		case <-tick:
			u.mail.post(tickMsg{})
		}
		u.wake()
		pause.Reset(frame)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
	u.wake()
}

// wake makes tview call pressed. It does nothing while a wake is on its way.
func (u *UI) wake() {
	if u.wakeful.CompareAndSwap(false, true) {
		u.view.QueueEvent(tcell.NewEventKey(wakeKey, 0, tcell.ModNone))
	}
}

// spawn runs a part of the interface beside it. A panic ends the interface, and Run panics when the terminal is back.
func (u *UI) spawn(f func()) {
	u.workers.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				u.mu.Lock()
				u.crash = fmt.Errorf("%v\n\n%s", p, debug.Stack())
				u.mu.Unlock()
				u.cancelRun()
			}
		}()
		f()
	})
}

// begin notes that work is under way, and returns its context and what ends it.
func (u *UI) begin(ctx context.Context, task bool) (context.Context, func()) {
	work, cancel := context.WithCancel(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopWork, u.task = cancel, task
	return work, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.stopWork, u.task = nil, false
		cancel()
	}
}

// stop stops what is under way, and reports whether that was a task.
func (u *UI) stop() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopWork == nil {
		return false
	}
	u.stopWork()
	return u.task
}

func (u *UI) setMouse(on bool) {
	if on {
		u.screen.EnableMouse(tcell.MouseButtonEvents)
	} else {
		u.screen.DisableMouse()
	}
}
