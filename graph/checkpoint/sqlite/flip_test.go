package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// TestFlippedRowBytes flips bits of every column of every row of every table, one at a time. Each time the saver must give what
// it gave before or an error that says what is damaged and what to go on from; never another state, or none.
func TestFlippedRowBytes(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"spaces", "boundaries", "results", "blobs", "effects", "leases", "shapes"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.sqlite")
			s := open(t, path, sqlite.Options{Synchronous: sqlite.Off})
			f := newFlips(t, s, path, table)
			rows := f.rows(t)
			require.NotEmpty(t, rows)
			for _, row := range rows {
				for col := range row {
					for _, flipped := range flips(row[col]) {
						changed := slices.Clone(row)
						changed[col] = flipped
						f.what = fmt.Sprintf("%s of %v: %.80v for %.80v", f.columns[col], row[:2], flipped, row[col])
						if f.replace(t, row, changed) {
							f.check(t)
							f.replace(t, changed, row)
						}
					}
				}
			}
			f.what = "nothing"
			f.check(t)
			require.Zero(t, f.errors["nothing"], "all was undone")
			t.Logf("%d flips, %d of them noticed", f.checks, f.noticed)
			if table != "shapes" {
				require.Greater(t, f.noticed, f.checks/20)
			}
		})
	}
}

// flips returns v with single bits flipped: of a long text or blob at some of its bytes.
func flips(v any) (out []any) {
	switch v := v.(type) {
	case int64:
		for _, bit := range []int{0, 1, 5, 8, 16, 31, 32, 33, 40, 62, 63} {
			out = append(out, v^1<<bit)
		}
	case string:
		for _, b := range flips([]byte(v)) {
			out = append(out, string(b.([]byte)))
		}
	case []byte:
		stride := 1 + len(v)/100
		for at := 0; at < len(v); at += stride {
			b := bytes.Clone(v)
			b[at] ^= 1 << (at % 8)
			out = append(out, b)
		}
	}
	return out
}

// flipsTest is a thread, and what a saver says of it while nothing is damaged.
type flipsTest struct {
	s       *sqlite.Saver
	db      *sql.DB
	table   string
	columns []string

	want  map[string]*checkpoint.Saved // by ID, "" for the newest
	sub   *checkpoint.Saved
	infos []checkpoint.ThreadInfo

	what            string // what was flipped
	checks, noticed int
	errors          map[string]int
}

func newFlips(t *testing.T, s *sqlite.Saver, path, table string) *flipsTest {
	t.Helper()
	fill(t, s, "t", 3)
	sub := checkpoint.Boundary{Checkpoint: checkpoint.Checkpoint{
		Info: checkpoint.Info{Thread: "t", Namespace: "sub", ID: "s-1", Seq: 1, Time: clock}, Channels: map[string]int64{"v": 1}},
		Values: []checkpoint.Value{{Channel: "v", Data: []byte("inner")}}}
	require.NoError(t, s.Save(t.Context(), sub))
	require.NoError(t, s.Acquire(t.Context(), holder("owner")))
	f := &flipsTest{s: s, db: raw(t, path), table: table, want: map[string]*checkpoint.Saved{}, errors: map[string]int{}}
	var err error
	for _, id := range []string{"", "t-1", "t-2", "t-3"} {
		f.want[id], err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: id})
		require.NoError(t, err)
		f.want[id].ShapeText = ""
	}
	f.sub, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	require.NoError(t, err)
	f.infos, err = s.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	return f
}

func holder(token string) checkpoint.Lease {
	return checkpoint.Lease{Thread: "t", Token: token, Owner: token, Process: checkpoint.CurrentProcess(), Acquired: time.Now(),
		Expires: time.Now().Add(time.Hour)}
}

func (f *flipsTest) rows(t *testing.T) (all [][]any) {
	t.Helper()
	rows, err := f.db.Query("SELECT * FROM " + f.table)
	require.NoError(t, err)
	defer rows.Close()
	f.columns, err = rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		row := make([]any, len(f.columns))
		to := make([]any, len(row))
		for i := range row {
			to[i] = &row[i]
		}
		require.NoError(t, rows.Scan(to...))
		all = append(all, row)
	}
	require.NoError(t, rows.Err())
	return all
}

// replace reports whether there can be such a row: its key may be that of another.
func (f *flipsTest) replace(t *testing.T, from, to []any) bool {
	t.Helper()
	where := strings.Join(f.columns, " IS ? AND ") + " IS ?"
	if f.table == "leases" { // it may have been taken over
		where, from = "true", nil
	}
	tx, err := f.db.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("DELETE FROM "+f.table+" WHERE "+where, from...)
	require.NoError(t, err, f.what)
	_, err = tx.Exec("INSERT INTO "+f.table+" VALUES (?"+strings.Repeat(", ?", len(to)-1)+")", to...)
	if err != nil {
		require.ErrorContains(t, err, "UNIQUE", f.what)
		return false
	}
	require.NoError(t, tx.Commit())
	return true
}

func (f *flipsTest) check(t *testing.T) {
	t.Helper()
	f.checks++
	before := len(f.errors)
	f.checkNewest(t)
	f.checkOthers(t)
	f.checkLists(t)
	f.checkEffects(t)
	f.checkLease(t)
	if len(f.errors) > before {
		f.noticed++
	}
}

// notice records an error, which must say that something is damaged.
func (f *flipsTest) notice(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, checkpoint.ErrDamaged, f.what)
	f.errors[f.what]++
}

func (f *flipsTest) checkNewest(t *testing.T) {
	t.Helper()
	got, err := f.s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if err == nil {
		got.ShapeText = ""
		require.True(t, reflect.DeepEqual(f.want[""], got), f.what)
		return
	}
	f.notice(t, err)
	var damaged *checkpoint.DamagedError
	require.ErrorAs(t, err, &damaged, f.what)
	require.Equal(t, "t", damaged.Thread, f.what)
	if damaged.LastGood == "" {
		for _, id := range []string{"t-1", "t-2", "t-3"} {
			_, err := f.s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: id})
			require.Error(t, err, "%s could be offered; %s", id, f.what)
		}
		return
	}
	_, err = f.s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: damaged.LastGood})
	require.NoError(t, err, "what is offered must be good; %s", f.what)
}

func (f *flipsTest) checkOthers(t *testing.T) {
	t.Helper()
	for _, id := range []string{"t-1", "t-2", "t-3"} {
		got, err := f.s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: id})
		if err != nil {
			if f.table != "boundaries" || !errors.Is(err, checkpoint.ErrNotFound) {
				f.notice(t, err)
			}
			continue
		}
		f.same(t, id, got)
	}
	got, err := f.s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	if err != nil {
		f.notice(t, err)
		return
	}
	require.Equal(t, f.sub, got, f.what)
}

// same requires that a checkpoint is what it was.
func (f *flipsTest) same(t *testing.T, id string, got *checkpoint.Saved) {
	t.Helper()
	got.ShapeText = ""
	want := *f.want[id]
	if len(got.Results) == 0 && f.table == "boundaries" { // lost with the boundary after it
		want.Results = nil
	}
	require.True(t, reflect.DeepEqual(&want, got), "%s; %s", id, f.what)
}

func (f *flipsTest) checkLists(t *testing.T) {
	t.Helper()
	n := 0
	for info, err := range f.s.List(t.Context(), checkpoint.Query{Thread: "t"}) {
		n++
		if err != nil {
			f.notice(t, err)
			continue
		}
		require.Equal(t, f.want[info.ID].Info, info, f.what)
	}
	if f.errors[f.what] == 0 {
		require.Equal(t, 3, n, f.what)
	}
	for saved, err := range f.s.History(t.Context(), checkpoint.Query{Thread: "t"}) {
		if err != nil {
			f.notice(t, err)
			continue
		}
		f.same(t, saved.ID, saved)
	}
	infos, err := f.s.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Len(t, infos, 1, f.what)
	got := infos[0]
	if got.Status == checkpoint.StatusDamaged {
		f.errors[f.what]++
		return
	}
	if f.table == "leases" {
		got.Status = f.infos[0].Status
	}
	require.Equal(t, f.infos[0], got, f.what)
}

func (f *flipsTest) checkEffects(t *testing.T) {
	t.Helper()
	got, fresh, err := f.s.BeginEffect(t.Context(), "", checkpoint.Effect{EffectKey: paid("t"), Seq: 3, Started: clock})
	if err != nil {
		f.notice(t, err)
		return
	}
	require.False(t, fresh, "the effect would happen again; %s", f.what)
	require.True(t, reflect.DeepEqual(got, checkpoint.Effect{EffectKey: paid("t"), Seq: 3, Started: clock, Done: true, Result: []byte(`"paid"`)}), f.what)
}

// checkLease: a damaged lease may be taken over, but then its owner can write no more.
func (f *flipsTest) checkLease(t *testing.T) {
	t.Helper()
	if f.table != "leases" {
		return
	}
	err := f.s.Acquire(t.Context(), holder("other"))
	if err != nil {
		require.ErrorIs(t, err, checkpoint.ErrThreadBusy, f.what)
		return
	}
	f.errors[f.what]++
	err = f.s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 3, Lease: "owner"})
	require.ErrorIs(t, err, checkpoint.ErrLeaseLost, f.what)
}
