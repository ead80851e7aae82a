package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

const rounds = 60

// child is another process on the same file: it puts records of its own and ones that others put too, and remembers.
func child(path string, does []string) error {
	name := does[0]
	ctx := context.Background()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	for i := range rounds {
		r := Record{Kind: KindTurn, Key: fmt.Sprint(i), Text: strings.Repeat(fmt.Sprintf("turn %d ", i), 100), Importance: 1, Order: int64(i)}
		for _, owner := range []string{name, "shared"} {
			r.Owner = owner
			stored, err := s.Put(ctx, r)
			if err != nil {
				return fmt.Errorf("putting %d: %w", i, err)
			}
			got, err := s.Get(ctx, []string{owner}, stored.Ref)
			if err != nil || got.Text != r.Text {
				return fmt.Errorf("reading %d: %w", i, err)
			}
		}
		if _, _, err := s.Remember(ctx, "", "counter", fmt.Sprint(name, " ", i)); err != nil {
			return err
		}
		if _, err := s.Search(ctx, []string{"shared", name}, fmt.Sprint("turn ", i), SearchOptions{}); err != nil {
			return err
		}
		if _, err := s.Copy(ctx, name, name+"-copy"); err != nil {
			return err
		}
		if _, err := s.Remove(ctx, name+"-copy"); err != nil {
			return err
		}
	}
	return s.Close()
}

func TestProcessesShareAFile(t *testing.T) {
	t.Parallel()
	path := open(t).Path() + "2"
	sqlitedbtest.Together(t, sqlitedbtest.Command(path, "one"), sqlitedbtest.Command(path, "two"))
	s := sqlitedbtest.Open(t, Open, path, Options{})
	for _, owner := range []string{"one", "two", "shared"} {
		list, err := s.List(t.Context(), owner, ListOptions{WithText: true})
		require.NoError(t, err)
		require.Len(t, list, rounds, owner)
		for i, r := range list {
			require.Equal(t, fmt.Sprint(i), r.Key)
		}
	}
	history, err := s.MemoryHistory(t.Context(), "", "counter")
	require.NoError(t, err)
	require.Len(t, history, 2*rounds)
	require.Equal(t, rounds+1, rows(t, s, "contents"), "equal texts are stored once")
}
