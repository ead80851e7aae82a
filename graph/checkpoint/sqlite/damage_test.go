package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

var clock = time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)

// fill writes n checkpoints with values small and large, deltas, results, private inputs and an effect.
func fill(t testing.TB, s *sqlite.Saver, thread string, n int) {
	t.Helper()
	for seq := int64(1); seq <= int64(n); seq++ {
		large := bytes.Repeat(fmt.Appendf(nil, "large %d ", seq), 300)
		b := checkpoint.Boundary{
			Checkpoint: checkpoint.Checkpoint{
				Info: checkpoint.Info{Thread: thread, ID: fmt.Sprintf("%s-%d", thread, seq), Seq: seq, ParentSeq: seq - 1, Step: int(seq),
					Source: checkpoint.SourceLoop, Nodes: []string{"n"}, Next: []string{"n"}, Time: clock},
				Run: "run", Shape: "shape",
				Channels: map[string]int64{"list": seq, "large": seq, "small": seq},
				Tasks:    []checkpoint.Task{{ID: "task", Node: "n", Send: true, Private: []checkpoint.Write{{Channel: "small", Op: "set", Data: []byte("private")}}}},
			},
			Values: []checkpoint.Value{
				{Channel: "large", Data: large},
				{Channel: "list", Delta: true, Prev: seq - 1, Data: fmt.Appendf(nil, `["item %d"]`, seq)},
				{Channel: "small", Data: fmt.Appendf(nil, `"small %d"`, seq)},
			},
			ShapeText: "the shape of it",
		}
		if seq > 1 {
			b.Results = []checkpoint.Result{{Task: "task", Node: "n", Done: true, Writes: []checkpoint.Write{{Channel: "large", Op: "set", Data: large}}}}
		}
		require.NoError(t, s.Save(t.Context(), b))
	}
	key := checkpoint.EffectKey{Thread: thread, Task: "task", Key: "pay"}
	_, _, err := s.BeginEffect(t.Context(), "", checkpoint.Effect{EffectKey: key, Seq: 1, Started: clock})
	require.NoError(t, err)
	require.NoError(t, s.FinishEffect(t.Context(), "", key, []byte(`"paid"`)))
}

// TestDamagedRows changes one row of each kind and expects an error with the thread, the checkpoint and the last good one.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query string
		good  string // the last good checkpoint
	}{
		"record":          {`UPDATE checkpoints SET record = replace(record, '"n"', '"m"') WHERE seq = 3`, "t-2"},
		"record cut off":  {`UPDATE checkpoints SET record = substr(record, 1, 20) WHERE seq = 3`, "t-2"},
		"step":            {`UPDATE checkpoints SET step = 2 WHERE seq = 3`, "t-2"},
		"private input":   {`UPDATE checkpoints SET payload = x'41424344454647' WHERE seq = 3`, "t-2"},
		"value":           {`UPDATE channel_values SET data = '"small X"' WHERE seq = 3 AND channel = 'small'`, "t-2"},
		"value gone":      {`DELETE FROM channel_values WHERE seq = 3 AND channel = 'small'`, "t-2"},
		"delta":           {`UPDATE channel_values SET data = '["item X"]' WHERE seq = 2 AND channel = 'list'`, "t-1"},
		"delta gone":      {`DELETE FROM channel_values WHERE seq = 1 AND channel = 'list'`, ""},
		"delta in circle": {`UPDATE channel_values SET prev = 3 WHERE seq = 2 AND channel = 'list'`, "t-1"},
		"blob":            {`UPDATE blobs SET data = zeroblob(length(data)) WHERE key = (SELECT blob FROM channel_values WHERE seq = 3 AND blob IS NOT NULL)`, "t-1"}, // also result of 2
		"blob gone":       {`DELETE FROM blobs WHERE key = (SELECT blob FROM channel_values WHERE seq = 3 AND blob IS NOT NULL)`, "t-1"},
		"values swapped":  {`UPDATE channel_values SET data = (SELECT data FROM channel_values WHERE seq = 2 AND channel = 'small') WHERE seq = 3 AND channel = 'small'`, "t-2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.sqlite")
			s := open(t, path, sqlite.Options{Synchronous: sqlite.Off})
			fill(t, s, "t", 3)
			raw, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			res, err := raw.Exec(test.query)
			require.NoError(t, err)
			n, err := res.RowsAffected()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			require.NoError(t, raw.Close())

			_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			var damaged *checkpoint.DamagedError
			require.ErrorAs(t, err, &damaged)
			require.ErrorIs(t, err, checkpoint.ErrDamaged)
			require.Equal(t, "t", damaged.Thread)
			require.Equal(t, "t-3", damaged.Checkpoint)
			require.Equal(t, test.good, damaged.LastGood, err)
			if test.good != "" {
				_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: test.good})
				require.NoError(t, err)
				require.ErrorContains(t, damaged, test.good)
			}
			listed := 0
			for info, err := range s.List(t.Context(), checkpoint.Query{Thread: "t"}) {
				if err != nil {
					require.ErrorIs(t, err, checkpoint.ErrDamaged)
				}
				require.NotEmpty(t, info.ID)
				listed++
			}
			require.Equal(t, 3, listed, "the list goes on behind a damaged checkpoint")
		})
	}
}

// TestDamagedResultAndEffect: neither may be taken for a task or an effect that never happened.
func TestDamagedResultAndEffect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	s := open(t, path, sqlite.Options{Synchronous: sqlite.Off})
	fill(t, s, "t", 2)
	raw, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer raw.Close()
	_, err = raw.Exec(`UPDATE task_results SET record = replace(record, 'true', 'null')`)
	require.NoError(t, err)
	_, err = raw.Exec(`UPDATE effects SET result = '"lost"'`)
	require.NoError(t, err)
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: "t-1"})
	require.ErrorIs(t, err, checkpoint.ErrDamaged)
	_, _, err = s.BeginEffect(t.Context(), "", checkpoint.Effect{EffectKey: checkpoint.EffectKey{Thread: "t", Task: "task", Key: "pay"}})
	require.ErrorIs(t, err, checkpoint.ErrDamaged)
}

// TestFlippedBytes flips bytes all over a file. Whatever comes of it, a load returns what was saved or an error that is not
// "there is no such thread".
func TestFlippedBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sqlite")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: sqlite.Off})
	require.NoError(t, err)
	fill(t, s, "t", 3)
	want, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	original, err := os.ReadFile(path)
	require.NoError(t, err)

	stride := 997
	if testing.Short() {
		stride = 1999
	}
	same, failed, lost := 0, 0, 0
	for at := 0; at < len(original); at += stride {
		data := bytes.Clone(original)
		data[at] ^= 0x5a
		broken := filepath.Join(dir, "broken.sqlite")
		require.NoError(t, os.WriteFile(broken, data, 0o600))
		got, err := loadOnce(broken)
		switch {
		case err == nil:
			got.ShapeText = want.ShapeText // is for people
			if !reflect.DeepEqual(want, got) {
				t.Errorf("byte %d: another state", at)
			}
			same++
		case errors.Is(err, checkpoint.ErrNotFound):
			t.Logf("byte %d: %v", at, err)
			lost++
		default:
			named := errors.Is(err, checkpoint.ErrDamaged) || strings.Contains(err.Error(), "broken.sqlite")
			require.True(t, named, "byte %d: %v", at, err)
			failed++
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(broken + suffix)
		}
	}
	require.Positive(t, same)
	require.Positive(t, failed)
	t.Logf("%d loads succeeded, %d failed, %d found nothing", same, failed, lost)
	require.Zero(t, lost)
}

func loadOnce(path string) (*checkpoint.Saved, error) {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{Synchronous: sqlite.Off})
	if err != nil {
		return nil, err
	}
	defer s.Close() // a damaged file may not close well
	return s.Load(context.Background(), checkpoint.Ref{Thread: "t"})
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.md")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("# notes\n", 200)), 0o600))
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrCorrupt)
	require.ErrorContains(t, err, "notes.md")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, data, 8*200, "somebody else's file must stay as it is")
	_, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x"), sqlite.Options{Synchronous: "sometimes"})
	require.ErrorContains(t, err, "sometimes")
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.sqlite"), sqlite.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrClosed)
	require.ErrorIs(t, s.Save(t.Context(), checkpoint.Boundary{}), checkpoint.ErrClosed)
	for _, err := range s.List(t.Context(), checkpoint.Query{Thread: "t"}) {
		require.ErrorIs(t, err, checkpoint.ErrClosed)
	}
}
