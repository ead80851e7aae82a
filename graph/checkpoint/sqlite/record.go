package sqlite

import (
	"maps"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// recordVersion is the first byte of every record. A field that a later version adds is read only from records of that
// version on.
const recordVersion = 1

// version codes the first byte of a record.
func (c *coder) version() {
	v := byte(recordVersion)
	c.byte(&v)
	if c.reading && v != recordVersion {
		c.fail()
	}
}

// boundary is what the row of a checkpoint holds besides its key and ID.
type boundary struct {
	checkpoint.Checkpoint
	values  []checkpoint.Value
	results []checkpoint.Result // of the tasks of the checkpoint before, when that is the parent

	large, largeResults []largeData // of values and tasks, and of results, when read
}

// newest is what a space's row says of its newest checkpoint.
type newest struct {
	seq     int64
	id      string
	pending int64 // of the results that were stored beside it; see [pendingSum]
}

var (
	sources = []string{string(checkpoint.SourceInput), string(checkpoint.SourceLoop), string(checkpoint.SourceUpdate), string(checkpoint.SourceFork)}
	ops     = []string{"set", "add", "merge", "replace"}
)

// boundary codes all of b but what its key says: thread, namespace, seq and ID. The values come first, because reading a
// value that was stored as deltas needs only them of most checkpoints.
func (c *coder) boundary(b *boundary) {
	c.version()
	c.boundaryValues(b)
	c.relative(&b.ParentSeq, b.Seq)
	c.id(&b.Parent)
	c.id(&b.Run)
	c.id(&b.Shape)
	c.int64(&b.Above)
	c.int(&b.Step)
	c.word((*string)(&b.Source), sources)
	c.time(&b.Time)
	c.int64(&b.Bytes)
	list(c, &b.Nodes, c.name)
	list(c, &b.Ran, c.name)
	list(c, &b.Next, c.name)
	c.channels(b)
	list(c, &b.Tasks, c.task)
	list(c, &b.Waiting, c.task)
	c.joins(&b.Joins)
	n := len(c.large)
	list(c, &b.results, c.result)
	if c.reading {
		b.large, b.largeResults = c.large[:n], c.large[n:]
	}
}

func (c *coder) boundaryValues(b *boundary) {
	list(c, &b.values, func(v *checkpoint.Value) {
		c.name(&v.Channel)
		c.bools(&v.Delta)
		if v.Delta {
			c.relative(&v.Prev, b.Seq)
		}
		c.data(&v.Data)
	})
	for i := range b.values {
		c.values = append(c.values, namedData{b.values[i].Channel, &b.values[i].Data})
	}
	if c.reading {
		b.large = c.large
	}
}

// relative codes n, which is a little less than base.
func (c *coder) relative(n *int64, base int64) {
	diff := base - *n
	c.int64(&diff)
	if c.reading {
		*n = base - diff
	}
}

func (c *coder) time(t *time.Time) {
	us := t.UnixMicro()
	c.int64(&us)
	if c.reading {
		*t = fromMicros(us)
	}
}

func (c *coder) channels(b *boundary) {
	names := slices.Sorted(maps.Keys(b.Channels))
	if c.reading {
		b.Channels = map[string]int64{}
	}
	list(c, &names, func(name *string) {
		c.name(name)
		seq := b.Channels[*name]
		c.relative(&seq, b.Seq)
		if c.reading {
			b.Channels[*name] = seq
		}
	})
}

func (c *coder) joins(joins *map[string][]string) {
	keys := slices.Sorted(maps.Keys(*joins))
	list(c, &keys, func(key *string) {
		c.name(key)
		sources := (*joins)[*key]
		list(c, &sources, c.name)
		if c.reading {
			if *joins == nil {
				*joins = map[string][]string{}
			}
			(*joins)[*key] = sources
		}
	})
}

func (c *coder) task(t *checkpoint.Task) {
	c.id(&t.ID)
	c.name(&t.Node)
	c.bools(&t.Send, &t.Joined)
	list(c, &t.Private, c.write)
}

func (c *coder) write(w *checkpoint.Write) {
	c.name(&w.Channel)
	c.word(&w.Op, ops)
	c.sharedData(w.Channel, &w.Data)
}

func (c *coder) result(r *checkpoint.Result) {
	c.id(&r.Task)
	c.name(&r.Node)
	c.bools(&r.Done, &r.Handled)
	list(c, &r.Writes, c.write)
	list(c, &r.Targets, func(t *checkpoint.Target) {
		c.name(&t.Node)
		c.bools(&t.Send)
		list(c, &t.Private, c.write)
	})
	c.string(&r.Error)
	list(c, &r.Interrupts, c.interrupt)
	list(c, &r.Answers, c.data)
	list(c, &r.Nested, c.nested)
}

func (c *coder) interrupt(q *checkpoint.Interrupt) {
	c.id(&q.ID)
	c.data(&q.Value)
}

func (c *coder) nested(n *checkpoint.Nested) {
	c.interrupt(&n.Interrupt)
	c.string(&n.Namespace)
	c.name(&n.Node)
	answered := n.Answer != nil
	c.bools(&n.Unsaved, &answered)
	if answered {
		c.data(&n.Answer)
	}
}
