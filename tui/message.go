package tui

import (
	"time"

	"github.com/llama-agent/llama-agent/app"
)

// message is something that changes the State: one of the types below.
type message interface{ message() }

type (
	keyMsg   struct{ key key }
	pasteMsg struct{ text string }
	clickMsg struct{ x, y int } // left button
	wheelMsg struct{ x, y, lines int }
	sizeMsg  struct{ width, height int }
	tickMsg  struct{} // time has passed while something is under way

	eventMsg    struct{ event app.Event } // of the task
	thoughtMsg  struct{ text string }
	loadingMsg  struct{ share float32 }
	prefillMsg  struct{ done, total int }
	loadedMsg   struct{ err error }
	finishedMsg struct { // a task came to its end
		report *app.Report
		err    error
	}
	outputMsg struct { // of a command
		entry string
		out   app.Output
		err   error
	}
	statusMsg struct {
		status app.ChatStatus
		err    error
	}
	turnsMsg struct { // of the conversation that is shown from now on
		turns []app.Turn
		err   error
	}
	listMsg struct { // for a picker
		list listKind
		rows []choice
		err  error
	}
	documentMsg struct { // to be looked at
		title, ref, text string
		err              error
	}
	wordsMsg struct { // for completion
		words words
		err   error
	}
	noticeMsg struct { // from the program itself
		text string
		bad  bool
	}
)

func (keyMsg) message()      {}
func (pasteMsg) message()    {}
func (clickMsg) message()    {}
func (wheelMsg) message()    {}
func (sizeMsg) message()     {}
func (tickMsg) message()     {}
func (eventMsg) message()    {}
func (thoughtMsg) message()  {}
func (loadingMsg) message()  {}
func (prefillMsg) message()  {}
func (loadedMsg) message()   {}
func (finishedMsg) message() {}
func (outputMsg) message()   {}
func (statusMsg) message()   {}
func (turnsMsg) message()    {}
func (listMsg) message()     {}
func (documentMsg) message() {}
func (wordsMsg) message()    {}
func (noticeMsg) message()   {}

// listKind says what a picker chooses among.
type listKind uint8

const (
	listResume    listKind = iota + 1 // conversations and stopped tasks
	listModels                        // model files
	listArtifacts                     // stored results
)

// choice is a row of a picker. Value is what choosing it means: an ID, a path, a reference.
type choice struct {
	value  string
	cells  []string
	right  []bool // cells that are aligned to the right
	broken string // why it can't be chosen; empty: it can
}

// words are what completion offers.
type words struct {
	tools, skills, files, conversations, artifacts []word
}

type word struct{ text, about string }

// effect is what the world has to do after a message: one of the types below. Their results come back as messages.
type effect interface{ effect() }

type (
	doEffect       struct{ entry string }      // [app.Chat.Do]
	runEffect      struct{ task app.ChatTask } // [app.Chat.Run]
	loadEffect     struct{}                    // [app.Chat.Load]
	stopEffect     struct{}                    // stop what runs or loads
	listEffect     struct{ list listKind }
	turnsEffect    struct{}
	documentEffect struct{ ref string }
	wordsEffect    struct{}
	statusEffect   struct{}
	copyEffect     struct{ text string } // to the clipboard, by the terminal
	thinkEffect    struct{ on bool }     // tell [app.Chat] whether thoughts are shown
	mouseEffect    struct{ on bool }
	redrawEffect   struct{} // paint everything anew
	suspendEffect  struct{}
	quitEffect     struct{}
)

func (doEffect) effect()       {}
func (runEffect) effect()      {}
func (loadEffect) effect()     {}
func (stopEffect) effect()     {}
func (listEffect) effect()     {}
func (turnsEffect) effect()    {}
func (documentEffect) effect() {}
func (wordsEffect) effect()    {}
func (statusEffect) effect()   {}
func (copyEffect) effect()     {}
func (thinkEffect) effect()    {}
func (mouseEffect) effect()    {}
func (redrawEffect) effect()   {}
func (suspendEffect) effect()  {}
func (quitEffect) effect()     {}

// work is what is under way.
type work uint8

const (
	workNone work = iota
	workLoading
	workTask
)

// activity is what the activity line tells.
type activity struct {
	work     work
	began    time.Time
	stopping bool // it was told to stop

	share float32 // of the model that is loaded
	phase string  // of the task

	readDone, readTotal int // tokens of the prompt; total 0: none is being read
	readFrom            int // where reading began, after what was cached
	readBegan           time.Time

	writing   bool // the answer comes
	written   int  // pieces of it, about a token each
	wroteFrom time.Time
}
