package agent

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// changeVerbs begin a step that changes something. Words that often mean something else, such as "remove duplicates" or "create a list",
// are left out: what they lead to is refused when a tool is asked for it.
var changeVerbs = []string{
	"delete", "drop", "erase", "wipe", "purge", "truncate", "overwrite", "rename", "move", "update", "modify", "insert", "set", "change",
}

// changeBeginnings are the same in languages that are written without spaces.
var changeBeginnings = slices.Concat(destroyingSigns, []string{"覆盖", "重命名", "移动", "修改", "更新", "插入", "写入"})

// asksForChange reports whether a step is there to change something. A model that cannot write a DELETE counts rows instead, and then
// tells that they are deleted; a step like that must not run with a tool that only reads.
func asksForChange(do string) bool {
	do = strings.TrimSpace(do)
	first, _, _ := strings.Cut(strings.ToLower(do), " ")
	if slices.Contains(changeVerbs, strings.TrimFunc(first, unicode.IsPunct)) {
		return true
	}
	return slices.ContainsFunc(changeBeginnings, func(word string) bool { return strings.HasPrefix(do, word) })
}

// destroying are the words of tasks that want something destroyed. What a task wants changed in other ways, such as a sentence, is often no
// matter of this machine.
var destroying = []string{"delete", "erase", "wipe", "purge", "rm", "rmdir", "unlink", "truncate", "drop"}

// destroyingSigns are the same in languages that are written without spaces.
var destroyingSigns = []string{"删除", "删掉", "清空"}

// wantsDestroyed reports whether a task wants something deleted: that is about this machine, where it is refused.
func wantsDestroyed(goal string) bool {
	return hasWordOf(goal, destroying) ||
		slices.ContainsFunc(destroyingSigns, func(word string) bool { return strings.Contains(goal, word) })
}

// hasWordOf reports whether one of some words stands in a text, as a whole word in any case.
func hasWordOf(text string, words []string) bool {
	written := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(written, func(word string) bool { return slices.Contains(words, word) })
}

// politeness may stand before what a task wants.
var politeness = []string{"please", "pls", "kindly", "can you", "could you", "would you", "i want you to", "请你", "请", "帮我", "麻烦你"}

func cutPrefixFold(s, prefix string) (rest string, found bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// changeAsked is the first clause of a task that wants something changed, or "" for other tasks.
func changeAsked(goal string) string {
	goal = strings.TrimSpace(goal)
	for again := true; again; {
		again = false
		for _, word := range politeness {
			rest, polite := cutPrefixFold(goal, word)
			if polite && (word[0] >= utf8.RuneSelf || strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ",")) {
				goal, again = strings.TrimLeft(rest, " ,"), true
			}
		}
	}
	if !asksForChange(goal) {
		return ""
	}
	if words := strings.Fields(strings.ToLower(goal)); len(words) > 1 && (words[1] == "me" || words[1] == "us") {
		return "" // as in: update me on the errors
	}
	end := len(goal)
	for _, stop := range []string{". ", ", ", "; ", " and ", " then ", "。", "，", "；", "\n"} {
		if at := strings.Index(goal, stop); at > 0 {
			end = min(end, at)
		}
	}
	return clip(strings.TrimRight(goal[:end], ".!。！"), 160)
}

// withTheChange puts what a task wants changed before the steps of its first plan, when they leave it out and all tools only read: the step
// is refused, so that the answer says what was not done. A small model that cannot do it plans the rest, and keeps silent.
func (w *work) withTheChange(steps []plannedStep) []plannedStep {
	change := changeAsked(w.task.Goal)
	if change == "" || !onlyRead(w.offered.Specs()) || slices.ContainsFunc(steps, func(s plannedStep) bool { return asksForChange(s.Do) }) {
		return steps
	}
	for _, s := range steps {
		if tool, known := w.offered.Lookup(s.Tool); known && tool.Spec().ReadOnly {
			return append([]plannedStep{{File: s.File, Tool: s.Tool, Do: change}}, steps...)
		}
	}
	return steps
}

// unrefused is what the task orders to delete when no step was refused for it and no tool can have done it, else "": the model called another
// tool in its place, and may tell that it is done.
func (w *work) unrefused() string {
	if len(w.calls()) == 0 || !wantsDestroyed(w.task.Goal) || !onlyRead(w.offered.Specs()) {
		return ""
	}
	return changeAsked(w.task.Goal)
}

// cannotChange reports whether a step asks a tool that only reads to change something.
func (w *work) cannotChange(step Step) bool {
	tool, known := w.offered.Lookup(step.Tool)
	return known && tool.Spec().ReadOnly && asksForChange(step.Do)
}
