package graph_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// traceDiff collects what differs between what a scenario observed and what a pass did.
type traceDiff struct {
	names *traceNames
	by    counting
	lines []string
}

func (d *traceDiff) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// compare lists what differs between the scenario and the pass.
func (p *tracePass) compare() []string {
	forms := p.file.forms()
	for i := range p.file.Ops {
		p.file.Ops[i].Observed = forms.observed(p.file.Ops[i].Observed)
	}
	for i, r := range p.results {
		p.names.learn(p.file.Ops[i].Observed, r.whole())
	}
	retried := p.file.retriedSpaces()
	var first []string
	for by := range countings {
		lines := p.compareBy(by)
		if len(lines) > 0 && len(retried.spaces) > 0 {
			lines = retried.without(p, by).compareBy(by)
		}
		if len(lines) > 0 && p.doubtful > 0 {
			until := *p
			until.results, until.stored = p.results[:p.doubtful-1], nil
			lines = until.compareBy(by)
		}
		if len(lines) == 0 {
			return nil
		}
		if first == nil {
			first = lines
		}
	}
	return first
}

func (p *tracePass) compareBy(by counting) []string {
	d := &traceDiff{names: p.names, by: by}
	for i, r := range p.results {
		op := &p.file.Ops[i]
		d.lines = append(d.lines, prefixed(fmt.Sprintf("operation %d (%s)", i, op.Op), d.operation(op, r))...)
	}
	if p.stored != nil {
		d.lines = append(d.lines, d.storage(p.file.Observed.Storage, p.stored, p.file.forms())...)
	}
	return d.lines
}

// whole is all that was observed as one tree.
func (r *traceResult) whole() any {
	all := []any{r.tree}
	for _, e := range r.events {
		all = append(all, e.tree)
	}
	return all
}

func prefixed(prefix string, lines []string) []string {
	for i := range lines {
		lines[i] = prefix + ": " + lines[i]
	}
	return lines
}

func (d *traceDiff) operation(op *traceOp, r *traceResult) []string {
	sub := &traceDiff{names: d.names, by: d.by}
	if !op.runs() {
		sub.equal("", sortInterrupts(plain(op.Observed)), sortInterrupts(d.names.render(r.tree, d.by)))
		return sub.lines
	}
	want, _ := plain(op.Observed).(map[string]any)
	got := d.names.render(r.tree, d.by).(map[string]any)
	ran, events, marks := list(want["ran"]), list(want["events"]), list(want["marks"])
	if want["ran"] == nil || op.Op == "stream" && want["events"] == nil {
		sub.add("the scenario doesn't say what happened")
	}
	for _, key := range []string{"ran", "events", "marks"} {
		delete(want, key)
	}
	if op.Op == "invoke" {
		r.keepStale(want, got)
	}
	sub.equal("", sortInterrupts(want), sortInterrupts(got))
	sub.rounds("ran", ran, r.ran, r.loose)
	sub.rounds("marks", marks, r.marks, r.loose)
	if !r.loose {
		sub.events(events, r)
	}
	return sub.lines
}

// keepStale adds values to got that last for one step and are gone: LangGraph's invoke returns the state that was last streamed,
// and a step in which nobody wrote streams none.
func (r *traceResult) keepStale(want, got map[string]any) {
	wantValues, _ := want["values"].(map[string]any)
	gotValues, _ := got["values"].(map[string]any)
	for name := range r.oneStep {
		if v, had := wantValues[name]; had && gotValues[name] == nil {
			gotValues[name] = v
		}
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// equal compares two trees of plain JSON.
func (d *traceDiff) equal(path string, want, got any) {
	wantMap, ok1 := want.(map[string]any)
	gotMap, ok2 := got.(map[string]any)
	wantList, ok3 := want.([]any)
	gotList, ok4 := got.([]any)
	switch {
	case ok1 && ok2:
		for _, key := range sortedKeys(wantMap) {
			if v, ok := gotMap[key]; ok {
				d.equal(path+"."+key, wantMap[key], v)
			} else {
				d.add("%s.%s: want %s, got nothing", path, key, jsonText(wantMap[key]))
			}
		}
		for _, key := range sortedKeys(gotMap) {
			if _, ok := wantMap[key]; !ok {
				d.add("%s.%s: want nothing, got %s", path, key, jsonText(gotMap[key]))
			}
		}
	case ok3 && ok4 && len(wantList) == len(gotList) && nested(wantList):
		for i := range wantList {
			d.equal(fmt.Sprintf("%s[%d]", path, i), wantList[i], gotList[i])
		}
	case !reflect.DeepEqual(want, got):
		d.add("%s: want %s, got %s", path, jsonText(want), jsonText(got))
	}
}

func nested(l []any) bool {
	return slices.ContainsFunc(l, func(v any) bool { _, ok := v.(map[string]any); return ok })
}

// sortInterrupts brings the lists of questions in tree into one order: they are sets.
func sortInterrupts(tree any) any {
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			sortInterrupts(item)
		}
	case map[string]any:
		for key, v := range tree {
			if l, ok := v.([]any); ok && (key == "interrupts" || key == "__interrupt__") {
				slices.SortFunc(l, func(a, b any) int { return cmp.Compare(jsonText(a), jsonText(b)) })
			}
			sortInterrupts(v)
		}
	}
	return tree
}

// rounds compares entries that belong to supersteps of the root: those of one superstep may come in any order. A loose
// comparison allows for entries that aren't wanted.
func (d *traceDiff) rounds(what string, want []any, got []traceEntry, loose bool) {
	rest := slices.Clone(want)
	for len(got) > 0 {
		n := slices.IndexFunc(got, func(e traceEntry) bool { return e.round != got[0].round })
		if n < 0 {
			n = len(got)
		}
		var texts []string
		for _, e := range got[:n] {
			texts = append(texts, jsonText(e.value))
		}
		got = got[n:]
		if loose {
			rest = slices.DeleteFunc(rest, func(v any) bool { return slices.Contains(texts, jsonText(v)) })
			continue
		}
		head := rest[:min(n, len(rest))]
		rest = rest[len(head):]
		if missing, extra := bagDiff(head, texts); len(missing)+len(extra) > 0 {
			d.add("%s of a superstep: want %v, got %v", what, jsonText(head), texts)
		}
	}
	if len(rest) > 0 {
		d.add("%s: missing %s", what, jsonText(rest))
	}
}

// bagDiff compares two collections without regard for order.
func bagDiff(want []any, got []string) (missing, extra []string) {
	count := map[string]int{}
	for _, g := range got {
		count[g]++
	}
	for _, w := range want {
		text := jsonText(w)
		if count[text]--; count[text] < 0 {
			missing = append(missing, text)
		}
	}
	for _, text := range sortedKeys(count) {
		for range max(count[text], 0) {
			extra = append(extra, text)
		}
	}
	return missing, extra
}

// traceLine is an event ready for comparison.
type traceLine struct {
	text  string
	space string // namespace
	event traceEvent
}

// events compares two streams. Inside a superstep the tasks' events may mix in any way.
func (d *traceDiff) events(want []any, r *traceResult) {
	rendered := make([]any, len(r.events))
	for i, e := range r.events {
		rendered[i] = d.names.render(e.tree, d.by)
	}
	nameTasks(want)
	nameTasks(rendered)
	var lines []traceLine
	for i, v := range rendered {
		lines = append(lines, traceLine{jsonText(v), spaceOf(v), r.events[i]})
	}
	want, lines = r.tolerated(want, lines)
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.text)
	}
	missing, extra := bagDiff(want, texts)
	for _, text := range missing {
		d.add("missing event %s", text)
	}
	for _, text := range extra {
		d.add("extra event %s", text)
	}
	if len(missing)+len(extra) > 0 {
		return
	}
	d.sequence("events", want, lines, false)
	spaces := map[string]bool{}
	for _, l := range lines {
		spaces[l.space] = true
	}
	for _, space := range sortedKeys(spaces) {
		wantHere := slices.DeleteFunc(slices.Clone(want), func(v any) bool { return spaceOf(v) != space })
		here := slices.DeleteFunc(slices.Clone(lines), func(l traceLine) bool { return l.space != space })
		d.sequence("events of namespace "+space, wantHere, here, true)
	}
}

// spaceOf is the namespace of an event.
func spaceOf(event any) string {
	e, _ := event.(map[string]any)
	return jsonText(e["ns"])
}

// nameTasks puts the place of a task among those of its node in the place of its ID, sorts sets, and leaves nothing else to
// do before events are compared as texts.
func nameTasks(events []any) {
	known := map[string]string{}
	count := map[string]int{}
	for _, e := range events {
		e, _ := e.(map[string]any)
		sortInterrupts(e)
		if next, ok := e["next"].([]any); ok { // listed in order of running there, which is any
			slices.SortFunc(next, func(a, b any) int { return cmp.Compare(jsonText(a), jsonText(b)) })
		}
		id, ok := e["task"].(string)
		if !ok {
			continue
		}
		node := fmt.Sprint(jsonText(e["ns"]), " ", e["node"])
		if _, ok := known[id]; !ok {
			count[node]++
			known[id] = fmt.Sprint(node, " ", count[node])
		}
		e["task"] = known[id]
	}
}

// sequence compares events step by step: those of the root's steps, or with alone those of the one graph they come from.
func (d *traceDiff) sequence(what string, want []any, got []traceLine, alone bool) {
	edge := func(l traceLine) bool { return l.event.edge && (alone || l.event.root) } // between two supersteps
	for len(got) > 0 {
		n := 1
		for n < len(got) && !edge(got[n]) && !edge(got[n-1]) && !got[n].newStep(got[n-1], alone) {
			n++
		}
		head := want[:n]
		var texts []string
		for _, l := range got[:n] {
			texts = append(texts, l.text)
		}
		if missing, extra := bagDiff(head, texts); len(missing)+len(extra) > 0 {
			d.add("%s come in another order: want %s next, got %s", what, jsonText(head), strings.Join(texts, ", "))
			return
		}
		d.taskOrder(what, head, got[:n])
		want, got = want[n:], got[n:]
	}
}

// newStep reports whether l is known to belong to a later superstep than the event before it, of the root or of a graph whose
// events alone are looked at.
func (l traceLine) newStep(before traceLine, alone bool) bool {
	if l.event.round != before.event.round {
		return true
	}
	stepped := l.event.step != before.event.step && l.event.step != notInStep && before.event.step != notInStep
	return stepped && (alone || l.event.root && before.event.root)
}

// taskOrder checks that the events of each task come in the wanted order.
func (d *traceDiff) taskOrder(what string, want []any, got []traceLine) {
	byTask := map[string][]string{}
	for _, l := range got {
		key := l.space + string(l.event.task)
		byTask[key] = append(byTask[key], l.text)
	}
	for _, key := range sortedKeys(byTask) {
		seq := byTask[key]
		at := 0
		for _, w := range want {
			if at < len(seq) && jsonText(w) == seq[at] {
				at++
			}
		}
		if at < len(seq) {
			d.add("%s of one task come in another order: want %s among %s", what, strings.Join(seq, ", "), jsonText(want))
		}
	}
}

// storage compares what was stored.
func (d *traceDiff) storage(want map[string][]traceSpace, got map[string][]storedSpace, forms traceForms) []string {
	wantTree, gotTree := map[string]any{}, map[string]any{}
	for thread, spaces := range want {
		for _, s := range spaces {
			wantTree[thread+" "+jsonText(plain(s.NS))] = s.Checkpoints
		}
	}
	for thread, spaces := range got {
		for _, s := range spaces {
			gotTree[thread+" "+jsonText(d.names.render(s.space, d.by))] = s.checkpoints
		}
	}
	sub := &traceDiff{}
	sub.equal("storage", forms.stored(plain(wantTree)), forms.stored(plain(gotTree)))
	return sub.lines
}
