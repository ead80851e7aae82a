package tui

import "github.com/llama-agent/llama-agent/app"

// listOf says which list a command opens when it is given without an argument.
var listOf = map[string]listKind{"resume": listResume, "model": listModels, "artifacts": listArtifacts}

// parse understands an entry as [app.Chat.Do] does.
func (w words) parse(entry string) (app.Entry, error) {
	names := make([]string, 0, len(w.tools)+len(w.skills))
	for _, list := range [][]word{w.tools, w.skills} {
		for _, known := range list {
			names = append(names, known.text)
		}
	}
	return app.ParseEntry(entry, names)
}

// waits reports whether an entry has to wait for the end of what is under way: it needs the model, or changes what the task stands on.
func waits(e app.Entry) bool {
	switch e.Command {
	case "", "tool", "skill", "new":
		return true
	case "resume", "model", "remember":
		return e.Subject != ""
	}
	return false
}

// makeWay stops loading a model that is not wanted any more.
func (s *State) makeWay(e app.Entry) []effect {
	if e.Command == "model" && s.activity.work == workLoading {
		return s.cancel()
	}
	return nil
}
