package tui

import "strings"

// key is a key that was pressed: its name, such as "enter", "alt+enter", "ctrl+c" or "f2", or the text that it types.
type key struct {
	name string
	text string
}

// press does what a key means where the user is.
func (s *State) press(k key) []effect {
	s.notice = ""
	if k.name != "ctrl+c" {
		s.armed = false
	}
	switch k.name {
	case "ctrl+c":
		return s.interrupt()
	case "ctrl+q":
		return []effect{quitEffect{}}
	case "ctrl+z":
		return []effect{suspendEffect{}}
	}
	switch {
	case s.question != nil:
		return s.answerQuestion(k)
	case s.picker != nil:
		return s.pressPicker(k)
	}
	if effects, done := s.pressAnywhere(k); done {
		return effects
	}
	switch {
	case s.find != nil && s.find.typing:
		s.pressFind(k)
		return nil
	case s.document != nil:
		return s.pressDocument(k)
	case s.mode == modeBrowse:
		return s.pressBrowse(k)
	}
	return s.pressInput(k)
}

// pressAnywhere does the keys that mean the same in the input, the transcript and documents.
func (s *State) pressAnywhere(k key) ([]effect, bool) {
	switch k.name {
	case "f1":
		if s.document != nil {
			return nil, false
		}
		s.showKeys()
	case "f2":
		s.thinking = !s.thinking
		s.notice = "thoughts are " + shownOrHidden(s.thinking)
		return []effect{thinkEffect{s.thinking}}, true
	case "f3":
		s.toggleSidebar()
	case "f4":
		s.toggleBrowse()
	case "f5":
		s.mouse = !s.mouse
		s.notice = "the mouse selects text, as without this program; F5 gives it back"
		if s.mouse {
			s.notice = "the mouse scrolls and opens; F5 lets the terminal select text"
		}
		return []effect{mouseEffect{s.mouse}}, true
	case "ctrl+f":
		s.startFind()
	case "ctrl+l":
		if s.document == nil {
			s.clear()
		}
		return []effect{redrawEffect{}}, true
	case "pgup", "pgdn":
		_, height := s.viewed()
		n := max(height-1, 1)
		if k.name == "pgup" {
			n = -n
		}
		s.scrollBy(n)
	case "ctrl+home":
		s.scroller().top()
	case "ctrl+end":
		s.scroller().bottom()
	default:
		return nil, false
	}
	return nil, true
}

func shownOrHidden(on bool) string {
	if on {
		return "shown"
	}
	return "hidden"
}

// interrupt is Ctrl-C: it stops what is under way, then empties the input, then leaves.
func (s *State) interrupt() []effect {
	switch {
	case s.activity.stopping, s.armed:
		return []effect{quitEffect{}}
	case s.question != nil:
		s.question = nil
		return nil
	case s.busy():
		s.armed = true // also when the turn has ended by then, so that two are always enough
		return s.cancel()
	case s.picker != nil:
		s.picker = nil
		return nil
	case !s.input.empty():
		s.input.set("")
		return nil
	}
	s.armed = true
	return nil
}

func (s *State) answerQuestion(k key) []effect {
	yes := s.question.yes
	switch {
	case k.text == "y" || k.text == "Y":
		s.question = nil
		if _, isRun := yes.(runEffect); isRun {
			if s.busy() {
				return nil
			}
			s.begin(workTask)
		}
		return []effect{yes}
	case k.text != "" || k.name == "esc" || k.name == "enter":
		s.question = nil
	}
	return nil
}

func (s *State) pressInput(k key) []effect {
	in := s.input
	if done := in.pressPopup(k); done {
		return nil
	}
	switch k.name {
	case "enter":
		return s.submit()
	case "tab":
		s.complete(true)
		return nil
	case "esc":
		if s.find != nil {
			s.find = nil
		}
		return nil
	}
	in.press(k)
	s.complete(false)
	return nil
}

// submit takes what is in the input.
func (s *State) submit() []effect {
	text := s.input.take()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return s.enter(text)
}

// enter does an entry: now, or when what is under way has ended.
func (s *State) enter(text string) []effect {
	s.scroll.bottom()
	parsed, err := s.words.parse(text)
	if err != nil {
		s.failed(err.Error())
		return nil
	}
	if s.busy() && waits(parsed) {
		s.queue = append(s.queue, text)
		return s.makeWay(parsed)
	}
	switch parsed.Command {
	case "", "tool", "skill":
		s.add(&entry{kind: kindUser, text: strings.TrimSpace(text)})
		s.sent = text
	case "cancel":
		if effects := s.cancel(); effects != nil {
			return effects
		}
	case "resume", "model", "artifacts":
		if parsed.Subject == "" {
			return []effect{listEffect{listOf[parsed.Command]}}
		}
		if parsed.Command == "artifacts" {
			return []effect{documentEffect{parsed.Subject}}
		}
	}
	return []effect{doEffect{text}}
}

// paste puts text where keys go.
func (s *State) paste(text string) []effect {
	switch {
	case s.question != nil:
	case s.picker != nil:
		s.picker.filter(s.picker.typed + oneLine(text))
	case s.find != nil && s.find.typing:
		s.find.typed += oneLine(text)
		s.findNext(0)
	case s.document == nil:
		s.mode = modeInput
		s.input.paste(text)
	}
	return nil
}
