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
			Labels:    map[string]string{"goal": "to last"},
		}
		if seq > 1 {
			b.Checkpoint.Parent = fmt.Sprintf("%s-%d", thread, seq-1)
			b.Results = []checkpoint.Result{{Task: "task", Node: "n", Done: true, Writes: []checkpoint.Write{{Channel: "large", Op: "set", Data: large}}}}
		}
		require.NoError(t, s.Save(t.Context(), b))
	}
	_, _, err := s.BeginEffect(t.Context(), "", checkpoint.Effect{EffectKey: paid(thread), Seq: int64(n), Started: clock})
	require.NoError(t, err)
	require.NoError(t, s.FinishEffect(t.Context(), "", paid(thread), []byte(`"paid"`)))
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: thread, Seq: int64(n),
		Results: []checkpoint.Result{{Task: "task", Node: "n", Done: true, Writes: []checkpoint.Write{{Channel: "small", Op: "set", Data: []byte("pending")}}}}}))
}

func paid(thread string) checkpoint.EffectKey {
	return checkpoint.EffectKey{Thread: thread, Task: "task", Key: "pay"}
}

// raw opens the file of a saver beside it.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// TestDamagedRows damages one row of each kind and expects an error with the thread, the checkpoint and the last good one.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	const newest = `(SELECT max(key) FROM boundaries)`
	tests := map[string]struct {
		query string
		good  string // the last good checkpoint
	}{
		"record":            {`UPDATE boundaries SET record = CAST(replace(record, 'private', 'pirated') AS BLOB) WHERE key = ` + newest, "t-2"},
		"record cut off":    {`UPDATE boundaries SET record = substr(record, 1, 20) WHERE key = ` + newest, "t-2"},
		"record empty":      {`UPDATE boundaries SET record = x'' WHERE key = ` + newest, "t-2"},
		"record of another": {`UPDATE boundaries SET record = (SELECT record FROM boundaries WHERE key = ` + newest + ` - 1) WHERE key = ` + newest, "t-2"},
		"checkpoint gone":   {`DELETE FROM boundaries WHERE key = ` + newest, "t-2"},
		"delta gone":        {`DELETE FROM boundaries WHERE key = ` + newest + ` - 2`, ""},
		"blob":              {`UPDATE blobs SET data = zeroblob(length(data)) WHERE key = (SELECT max(key) FROM blobs)`, "t-1"}, // also a result of 2
		"blob gone":         {`DELETE FROM blobs WHERE key = (SELECT max(key) FROM blobs)`, "t-1"},
		"result":            {`UPDATE results SET record = CAST(replace(record, 'pending', 'penning') AS BLOB)`, "t-2"},
		"result gone":       {`DELETE FROM results`, "t-2"},
		"entry":             {`UPDATE spaces SET record = zeroblob(length(record))`, "t-3"},
		"entry cut off":     {`UPDATE spaces SET record = x''`, "t-3"},
		"name":              {`UPDATE spaces SET thread = 'u'`, "t-3"},
		"labels":            {`UPDATE spaces SET labels = '{"goal":"to lose"}'`, "t-3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.sqlite")
			s := open(t, path, sqlite.Options{Synchronous: sqlite.Off})
			fill(t, s, "t", 3)
			res, err := raw(t, path).Exec(test.query)
			require.NoError(t, err)
			n, err := res.RowsAffected()
			require.NoError(t, err)
			require.EqualValues(t, 1, n)

			_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			var damaged *checkpoint.DamagedError
			require.ErrorAs(t, err, &damaged)
			require.ErrorIs(t, err, checkpoint.ErrDamaged)
			require.Equal(t, "t", damaged.Thread)
			require.Equal(t, "t-3", damaged.Checkpoint)
			require.Equal(t, test.good, damaged.LastGood, err)
			listed := 0
			for info, err := range s.List(t.Context(), checkpoint.Query{Thread: "t"}) {
				if err != nil {
					require.ErrorIs(t, err, checkpoint.ErrDamaged)
				}
				require.NotEmpty(t, info.ID)
				listed++
			}
			if name != "delta gone" { // the first checkpoint may have been pruned
				require.Equal(t, 3, listed, "the list goes on behind a damaged checkpoint")
			}
			if test.good != "" {
				require.ErrorContains(t, damaged, test.good)
				goOn(t, s, test.good)
			}
			_, err = s.DeleteThread(t.Context(), "t")
			require.NoError(t, err, "damage is no reason to keep it")
			_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
		})
	}
}

// goOn continues thread t from a checkpoint, as a run does that was told to.
func goOn(t *testing.T, s *sqlite.Saver, from string) {
	t.Helper()
	saved, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: from})
	require.NoError(t, err)
	require.EqualValues(t, 3, saved.LastSeq)
	next := checkpoint.Boundary{Checkpoint: saved.Checkpoint}
	next.Checkpoint.ID, next.Checkpoint.Parent = "t-4", from
	next.Checkpoint.Seq, next.Checkpoint.ParentSeq = saved.LastSeq+1, saved.Seq
	require.NoError(t, s.Save(t.Context(), next))
	got, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	require.NoError(t, err)
	require.Equal(t, "t-4", got.ID)
	require.Equal(t, saved.Values, got.Values)
	infos, err := s.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Len(t, infos, 1)
	require.Equal(t, "t", infos[0].ID)
	require.Equal(t, checkpoint.StatusPending, infos[0].Status)
	require.Positive(t, infos[0].Bytes)
}

// TestFlippedFileBytes flips bytes all over a file. Whatever comes of it, a load returns what was saved or an error that is not
// "there is no such thread".
func TestFlippedFileBytes(t *testing.T) {
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

	stride := 151
	if testing.Short() {
		stride = 1999
	}
	same, failed := 0, 0
	for at := 0; at < len(original); at += stride {
		data := bytes.Clone(original)
		data[at] ^= 0x5a
		broken := filepath.Join(dir, "broken.sqlite")
		require.NoError(t, os.WriteFile(broken, data, 0o600))
		got, err := loadOnce(broken)
		if err == nil {
			got.ShapeText = want.ShapeText // is for people
			if !reflect.DeepEqual(want, got) {
				t.Errorf("byte %d: another state", at)
			}
			same++
		} else {
			requireTyped(t, err, "byte %d: %v", at, err)
			failed++
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(broken + suffix)
		}
	}
	require.Positive(t, same)
	require.Positive(t, failed)
	t.Logf("%d loads succeeded, %d failed", same, failed)
}

func loadOnce(path string) (*checkpoint.Saved, error) {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{Synchronous: sqlite.Off, BusyTimeout: time.Second})
	if err != nil {
		return nil, err
	}
	defer s.Close() // a damaged file may not close well
	return s.Load(context.Background(), checkpoint.Ref{Thread: "t"})
}

// requireTyped: an error of a damaged file says which file or which checkpoint, and never that there is no such thread.
func requireTyped(t *testing.T, err error, msg string, args ...any) {
	t.Helper()
	require.NotErrorIs(t, err, checkpoint.ErrNotFound, append([]any{msg}, args...)...)
	named := errors.Is(err, checkpoint.ErrDamaged) || strings.Contains(err.Error(), ".sqlite")
	require.True(t, named, append([]any{msg}, args...)...)
}

// TestCutOffFile: of a file that lost its end, some checkpoints may be left, but never another state.
func TestCutOffFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.sqlite")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: sqlite.Off})
	require.NoError(t, err)
	fill(t, s, "t", 3)
	require.NoError(t, s.Close())
	original, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, size := range []int{15, 16, 99, 100, 101, 511, 512, 2047, 2048, 2049, 4096, len(original) / 2, len(original) - 2048, len(original) - 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			cut := filepath.Join(t.TempDir(), "cut.sqlite")
			require.NoError(t, os.WriteFile(cut, original[:size], 0o600))
			_, err := loadOnce(cut)
			require.Error(t, err)
			requireTyped(t, err, "%v", err)
		})
	}
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

	path = filepath.Join(t.TempDir(), "other.sqlite")
	other := open(t, path, sqlite.Options{})
	_, err = raw(t, path).Exec("DROP TABLE spaces")
	require.NoError(t, err)
	_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	require.ErrorContains(t, err, "other.sqlite")
	require.ErrorContains(t, err, "choose another path")
	require.NoError(t, other.Close())
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
