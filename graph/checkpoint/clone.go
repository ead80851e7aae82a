package checkpoint

import (
	"maps"
	"slices"
)

func cloneCheckpoint(c Checkpoint) Checkpoint {
	c.Nodes, c.Next, c.Ran = slices.Clone(c.Nodes), slices.Clone(c.Next), slices.Clone(c.Ran)
	c.Channels = maps.Clone(c.Channels)
	c.Tasks, c.Waiting = cloneTasks(c.Tasks), cloneTasks(c.Waiting)
	joins := c.Joins
	c.Joins = nil
	for k, v := range joins {
		if c.Joins == nil {
			c.Joins = map[string][]string{}
		}
		c.Joins[k] = slices.Clone(v)
	}
	return c
}

func cloneTasks(tasks []Task) []Task {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		tasks[i].Private = cloneWrites(tasks[i].Private)
	}
	return tasks
}

func cloneWrites(ws []Write) []Write {
	ws = slices.Clone(ws)
	for i := range ws {
		ws[i].Data = slices.Clone(ws[i].Data)
	}
	return ws
}

func cloneResult(r Result) Result {
	r.Writes = cloneWrites(r.Writes)
	r.Targets = slices.Clone(r.Targets)
	for i := range r.Targets {
		r.Targets[i].Private = cloneWrites(r.Targets[i].Private)
	}
	r.Interrupts, r.Answers, r.Nested = slices.Clone(r.Interrupts), slices.Clone(r.Answers), slices.Clone(r.Nested)
	return r
}
