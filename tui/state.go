package tui

import (
	"time"

	"github.com/llama-agent/llama-agent/app"
)

// Settings are what the configuration says about the interface. The zero value shows as little as can be.
type Settings struct {
	Sidebar      bool // show the sidebar where there is room for it
	Thinking     bool // show what the model thinks
	ThoughtChars int  // characters of a thought that are kept
	PreviewChars int  // characters of a tool result that are shown before it is opened
	Mouse        bool // take the mouse; the terminal's own selection then needs Shift in most terminals
}

// mode says who gets the keys, besides the overlays.
type mode uint8

const (
	modeInput  mode = iota // the input
	modeBrowse             // the transcript: an entry is selected
)

// State is all that the interface shows. Only update changes it; drawing keeps what it made of entries in renderer, which is no part of
// what is shown. It belongs to one goroutine.
type State struct {
	settings      Settings
	width, height int // of the terminal in cells
	now           time.Time

	entries  []*entry
	scroll   scroller
	renderer *renderer
	mode     mode
	selected int // entry, in modeBrowse

	input    *input
	queue    []string // entries that wait for the end of what is under way
	sent     string   // text of the turn under way, to be given back when it could not begin
	words    words
	find     *find     // searching, nil: not
	picker   *picker   // an overlay, nil: none
	document *document // takes the place of the transcript, nil: none
	question *question // an overlay above all, nil: none

	activity activity
	status   app.ChatStatus
	model    modelState
	kvUsed   int // tokens of the last prompt and its reply
	turn     int // that is under way, 0: none
	spent    app.Usage
	rates    rates

	plan    *entry // of the task under way
	call    *entry
	answer  *entry
	thought *entry

	sidebar  sidebarChoice
	thinking bool
	mouse    bool
	armed    bool // Ctrl-C at an empty input: again leaves
	notice   string
}

// modelState is what is known of the model.
type modelState uint8

const (
	modelUnknown modelState = iota
	modelLoading
	modelReady
	modelMissing
)

// sidebarChoice is what the user asked for. Without a wish the settings and the width decide.
type sidebarChoice uint8

const (
	sidebarAuto sidebarChoice = iota
	sidebarShown
	sidebarHidden
)

// rates are tokens per second of the last model call, 0 when they are not known.
type rates struct{ read, written int64 }

// question asks yes or no about something. Yes is what happens then.
type question struct {
	text string
	yes  effect
}

// newState returns the State at the start.
func newState(settings Settings, now time.Time) *State {
	return &State{
		settings: settings, now: now, scroll: scroller{follow: true}, renderer: newRenderer(settings), input: newInput(),
		thinking: settings.Thinking, mouse: settings.Mouse,
	}
}

// turnNumber is that of the turn under way, or of the next one; 0 when it is not known.
func (s *State) turnNumber() int {
	if s.activity.work == workTask && s.turn > 0 {
		return s.turn
	}
	return s.status.NextTurn
}

// busy reports whether time matters to what is shown.
func (s *State) busy() bool { return s.activity.work != workNone }
