package agent

import (
	"slices"
	"strings"
	"unicode"
)

// changeVerbs begin a step that changes something. Words that often mean something else, such as "remove duplicates" or "create a list",
// are left out: what they lead to is refused when a tool is asked for it.
var changeVerbs = []string{
	"delete", "drop", "erase", "wipe", "purge", "truncate", "overwrite", "rename", "move", "update", "modify", "insert", "set", "change",
}

// changeBeginnings are the same in languages that are written without spaces.
var changeBeginnings = []string{
	"删除", "删掉", "清空", "覆盖", "重命名", "移动", "修改", "更新", "插入", "写入",
}

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

// wantsDestroyed reports whether a task wants something deleted: that is about this machine, where it is refused.
func wantsDestroyed(goal string) bool {
	words := strings.FieldsFunc(strings.ToLower(goal), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(destroying, word) }) ||
		slices.ContainsFunc(changeBeginnings[:3], func(word string) bool { return strings.Contains(goal, word) })
}

// cannotChange reports whether a step asks a tool that only reads to change something.
func (w *work) cannotChange(step Step) bool {
	tool, known := w.offered.Lookup(step.Tool)
	return known && tool.Spec().ReadOnly && asksForChange(step.Do)
}
