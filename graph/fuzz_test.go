package graph_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// altered is a saver whose loads go through a function.
type altered struct {
	checkpoint.Saver
	alter func(*checkpoint.Saved)
}

func (a *altered) Load(ctx context.Context, ref checkpoint.Ref) (*checkpoint.Saved, error) {
	saved, err := a.Saver.Load(ctx, ref)
	if err == nil {
		a.alter(saved)
	}
	return saved, err
}

func (a *altered) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Info, error] {
	return a.Saver.List(ctx, q)
}

// FuzzStored gives a graph stored data in which values, writes, names and answers were replaced: it must run or report an error,
// and never panic.
func FuzzStored(f *testing.F) {
	for _, seed := range []string{`["a"]`, `null`, `{`, `7`, `"x"`, "\x00\xff", `[{"channel":"trail","op":"add","data":"WyJ4Il0="}]`, `[{"op":"touch"}]`} {
		for what := range byte(10) {
			f.Add(what, []byte(seed), "set")
		}
	}
	f.Fuzz(func(t *testing.T, what byte, data []byte, name string) {
		memory := checkpoint.NewMemory()
		saver := &altered{Saver: memory, alter: func(*checkpoint.Saved) {}}
		var ran runs
		g := around(t, saver, asker(t, graph.Inherit, &ran))
		_, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")}, graph.Thread("t"))
		var stop *graph.InterruptedError
		require.ErrorAs(t, err, &stop)
		saver.alter = func(s *checkpoint.Saved) {
			task := "none"
			if len(s.Tasks) > 0 {
				task = s.Tasks[0].ID
			}
			switch what % 10 {
			case 0:
				s.Values["trail"] = [][]byte{data}
			case 1:
				s.Values[name] = [][]byte{data, data}
			case 2:
				s.Values["__forward__"] = [][]byte{data}
			case 3:
				s.Results = []checkpoint.Result{{Task: task, Done: true, Writes: []checkpoint.Write{{Channel: "trail", Op: name, Data: data}}}}
			case 4:
				s.Results = []checkpoint.Result{{Task: task, Done: true, Targets: []checkpoint.Target{{Node: name, Send: len(data)%2 == 0, Private: []checkpoint.Write{{Channel: "trail", Op: "add", Data: data}}}}}}
			case 5:
				s.Results = []checkpoint.Result{{Task: task, Interrupts: []checkpoint.Interrupt{{ID: name, Value: data}}, Answers: [][]byte{data, data}}}
			case 6:
				s.Results = []checkpoint.Result{{Task: task, Nested: []checkpoint.Nested{{Namespace: name, Node: name, Answer: data}}}}
			case 7:
				s.Results = []checkpoint.Result{{Task: checkpoint.CommandTask, Done: true, Writes: []checkpoint.Write{{Channel: name, Op: "add", Data: data}}, Targets: []checkpoint.Target{{Node: name}}}}
			case 8:
				s.Tasks = append(s.Tasks, checkpoint.Task{ID: name, Node: name, Send: true, Private: []checkpoint.Write{{Channel: "trail", Op: "add", Data: data}}})
			case 9:
				s.Joins, s.Waiting, s.Namespace = map[string][]string{name: {name}}, []checkpoint.Task{{Node: name}}, name
			}
		}
		_, _ = g.State(t.Context(), "t", graph.WithSubgraphs())
		for _, err := range g.History(t.Context(), "t") {
			_ = err
		}
		_, _ = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Answer(stop.Questions[0].ID, "x"))
		_, _ = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.AllowOtherShape())
		_, _ = g.UpdateState(t.Context(), "t", "", graph.Update{trail.Add("y")})
	})
}
