package artifacts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Reason says why an artifact was removed.
type Reason string

// The reasons.
const (
	ReasonAge   Reason = "age"   // it was not used for longer than the age limit
	ReasonQuota Reason = "quota" // the size limit was exceeded, and it was not used for longest
)

// Removed is an artifact that a collection removed.
type Removed struct {
	Artifact Artifact `json:"artifact"`
	Reason   Reason   `json:"reason"`
}

// Collection reports what a collection did. Sizes are in bytes of content.
type Collection struct {
	Removed []Removed `json:"removed"`
	Freed   int64     `json:"freed_bytes"` // by removing artifacts; content that others still have is not freed
	// Orphans are files that a crash left without an artifact.
	Orphans     int   `json:"orphans"`
	OrphanBytes int64 `json:"orphan_bytes"`
	Left        int64 `json:"left_bytes"` // all content that is still stored
	// Over is how much of it exceeds the size limit, because it may still be needed.
	Over int64 `json:"over_bytes"`
}

// GC removes files that a crash left behind, artifacts that exceed the age limit, and while all content together exceeds the size
// limit, what was not used for longest. What is live, or was used within the grace period, stays. Several processes may collect,
// put and read at the same time: what is used in between stays as well. After an error the Collection holds what was done before.
func (s *Store) GC(ctx context.Context) (Collection, error) {
	c := Collection{Removed: []Removed{}}
	if err := s.db.Usable(); err != nil {
		return c, err
	}
	if err := s.sweep(ctx, &c); err != nil {
		return c, err
	}
	_, err := s.collect(ctx, 0, &c)
	return c, err
}

// maxTries bounds how often room is made for one artifact that others take before it is used.
const maxTries = 20

// makeRoom removes what may be removed until need bytes fit under the size limit.
func (s *Store) makeRoom(ctx context.Context, need int64) error {
	if s.opts.MaxBytes == 0 {
		return nil
	}
	if need > s.opts.MaxBytes {
		return &QuotaError{Dir: s.dir, Need: need, Max: s.opts.MaxBytes}
	}
	var total int64
	err := s.read(ctx, "measuring", func(t *txn) error { return t.Row(ctx, "total").Scan(&total) })
	if err != nil {
		return err
	}
	for try := 0; total+need > s.opts.MaxBytes; try++ {
		var c Collection
		chosen, err := s.collect(ctx, need, &c)
		if err != nil {
			return fmt.Errorf("making room for an artifact: %w", err)
		}
		total = c.Left
		// What was chosen may have been used, and what was freed taken, before it came to that.
		if total+need > s.opts.MaxBytes && (chosen == 0 || try == maxTries) {
			return s.quotaError(need, total)
		}
	}
	return nil
}

// sweepBatch is how many files are removed while the lock is held.
const sweepBatch = 64

// sweep removes what a crash left behind.
func (s *Store) sweep(ctx context.Context, c *Collection) error {
	found, err := s.files.list(s.opts.Clock())
	if err != nil {
		return err
	}
	for _, path := range found.stale {
		size, err := s.files.removeFile(path)
		if err != nil {
			return err
		}
		c.Orphans, c.OrphanBytes = c.Orphans+1, c.OrphanBytes+size
	}
	known := map[contentSum]bool{}
	err = s.read(ctx, "listing the contents of", func(t *txn) error {
		return t.Each(ctx, func(rows *sql.Rows) error {
			var sum []byte
			err := rows.Scan(&sum)
			if err == nil && len(sum) == len(contentSum{}) {
				known[contentSum(sum)] = true
			}
			return err
		}, "contents")
	})
	if err != nil {
		return err
	}
	orphans := slices.DeleteFunc(found.contents, func(sum contentSum) bool { return known[sum] })
	files, bytes, err := s.removeFiles(ctx, orphans)
	c.Orphans, c.OrphanBytes = c.Orphans+files, c.OrphanBytes+bytes
	return err
}

// removeFiles removes the files of contents that have no row. The lock keeps others from giving them one meanwhile.
func (s *Store) removeFiles(ctx context.Context, sums []contentSum) (files int, bytes int64, err error) {
	for batch := range slices.Chunk(sums, sweepBatch) {
		var failed error // not in the database
		err := s.tx(ctx, "removing content of", func(t *txn) error {
			for _, sum := range batch {
				var size int64
				err := t.Row(ctx, "content", sum[:]).Scan(&size)
				if err == nil {
					continue
				}
				if !errors.Is(err, sql.ErrNoRows) {
					return err
				}
				if size, failed = s.files.removeFile(s.files.path(sum)); failed != nil {
					return failed
				}
				files, bytes = files+1, bytes+size
			}
			return nil
		})
		if failed != nil {
			err = failed
		}
		if err != nil {
			return files, bytes, err
		}
	}
	return files, bytes, nil
}

// collect removes artifacts until the limits hold with need more bytes. It returns how many contents it wanted to remove.
func (s *Store) collect(ctx context.Context, need int64, c *Collection) (chosen int, err error) {
	p := plan{now: s.opts.Clock(), opts: s.opts, need: need}
	err = s.read(ctx, "looking for what to remove from", func(t *txn) error {
		if err := t.Row(ctx, "total").Scan(&p.total); err != nil {
			return err
		}
		return t.Each(ctx, func(rows *sql.Rows) error {
			r, err := scanRow(rows)
			p.rows = append(p.rows, r)
			return err
		}, "everything")
	})
	c.Left = p.total
	if err != nil {
		return 0, err
	}
	groups, err := p.choose(ctx)
	if err != nil {
		return 0, fmt.Errorf("finding out what is still needed: %w", err)
	}
	for batch := range slices.Chunk(groups, sweepBatch) {
		if err := s.drop(ctx, batch, c); err != nil {
			return len(groups), err
		}
	}
	if s.opts.MaxBytes > 0 {
		c.Over = max(0, c.Left-s.opts.MaxBytes)
	}
	return len(groups), nil
}

// victims are artifacts of one content that go together or not at all.
type victims struct {
	reason Reason
	rows   []row
	all    bool // nobody else has the content, as far as is known
}

// drop removes artifacts, and content that nobody has any more.
func (s *Store) drop(ctx context.Context, groups []victims, c *Collection) error {
	var removed []Removed
	var sums []contentSum
	var freed, left int64
	err := s.tx(ctx, "removing artifacts from", func(t *txn) error {
		for _, v := range groups {
			gone, err := t.dropGroup(ctx, v)
			if err != nil {
				return err
			}
			if !gone {
				continue
			}
			for _, r := range v.rows {
				removed = append(removed, Removed{r.Artifact, v.reason})
			}
			size, ok, err := t.dropContent(ctx, v.rows[0].content)
			if err != nil {
				return err
			}
			if ok {
				sums, freed = append(sums, v.rows[0].content), freed+size
			}
		}
		return t.Row(ctx, "total").Scan(&left)
	})
	if err != nil {
		return err
	}
	c.Removed, c.Freed, c.Left = append(c.Removed, removed...), c.Freed+freed, left
	_, _, err = s.removeFiles(ctx, sums)
	return err
}

// dropGroup removes the rows of a group. It leaves all of them when one was used since, or somebody else has the content now.
func (t *txn) dropGroup(ctx context.Context, v victims) (bool, error) {
	if v.all {
		var uses int
		var last int64
		if err := t.Row(ctx, "uses", v.rows[0].content[:]).Scan(&uses, &last); err != nil {
			return false, err
		}
		if uses != len(v.rows) || last != v.rows[len(v.rows)-1].turn {
			return false, nil
		}
	}
	gone := false
	for _, r := range v.rows {
		n, err := t.change(ctx, "drop_unused", r.key, r.turn)
		if err != nil {
			return false, err
		}
		gone = gone || n > 0
	}
	return gone, nil
}

// dropContent removes the row of a content that no artifact has.
func (t *txn) dropContent(ctx context.Context, sum contentSum) (size int64, ok bool, err error) {
	err = t.Row(ctx, "drop_content", sum[:]).Scan(&size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return size, err == nil, err
}

// plan decides what a collection removes.
type plan struct {
	rows  []row // in the order of their last use
	total int64 // bytes of all content
	need  int64 // bytes that must fit besides
	now   time.Time
	opts  Options
}

// choose returns what to remove: each artifact over the age limit by itself, then whole contents, for only that frees anything.
func (p plan) choose(ctx context.Context) ([]victims, error) {
	var out []victims
	uses := map[contentSum][]row{} // of what stays, in the order of use
	size := map[contentSum]int64{}
	for _, r := range p.rows {
		size[r.content] = r.Bytes
		old := p.opts.MaxAge > 0 && p.now.Sub(r.Used) > p.opts.MaxAge
		if old {
			free, err := p.removable(ctx, r)
			if err != nil {
				return nil, err
			}
			if free {
				out = append(out, victims{reason: ReasonAge, rows: []row{r}})
				continue
			}
		}
		uses[r.content] = append(uses[r.content], r)
	}
	total := p.total
	for sum, bytes := range size {
		if len(uses[sum]) == 0 {
			total -= bytes
		}
	}
	if p.opts.MaxBytes == 0 {
		return out, nil
	}
	for _, r := range p.rows {
		if total+p.need <= p.opts.MaxBytes {
			break
		}
		group := uses[r.content]
		if len(group) == 0 || group[len(group)-1].key != r.key {
			continue // gone already, or used later
		}
		free := true
		for i := 0; free && i < len(group); i++ {
			var err error
			if free, err = p.removable(ctx, group[i]); err != nil {
				return nil, err
			}
		}
		if free {
			out = append(out, victims{reason: ReasonQuota, rows: group, all: true})
			total -= r.Bytes
		}
	}
	return out, nil
}

// removable reports whether nobody needs an artifact.
func (p plan) removable(ctx context.Context, r row) (bool, error) {
	if p.now.Sub(r.Used) < p.opts.Grace {
		return false, nil
	}
	live, err := p.opts.Live(ctx, r.Owner, r.Ref)
	return !live && err == nil, err
}

// Remove removes artifacts of an owner, live or not, and returns the bytes of content that this freed. References that the owner
// does not have are left out.
func (s *Store) Remove(ctx context.Context, owner string, refs ...string) (freed int64, err error) {
	return s.remove(ctx, owner, func(t *txn) ([]contentSum, error) {
		var sums []contentSum
		for _, ref := range refs {
			id, _ := parseID(ref)
			var sum []byte
			err := t.Row(ctx, "drop", owner, id).Scan(&sum)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return nil, err
			}
			sums = append(sums, contentSum(sum))
		}
		return sums, nil
	})
}

// RemoveOwner removes everything an owner has, for a conversation or thread that is deleted, and returns the bytes of content that
// this freed.
func (s *Store) RemoveOwner(ctx context.Context, owner string) (freed int64, err error) {
	return s.remove(ctx, owner, func(t *txn) ([]contentSum, error) {
		var sums []contentSum
		err := t.Each(ctx, func(rows *sql.Rows) error {
			var sum []byte
			err := rows.Scan(&sum)
			if err == nil {
				sums = append(sums, contentSum(sum))
			}
			return err
		}, "drop_owner", owner)
		return sums, err
	})
}

func (s *Store) remove(ctx context.Context, owner string, drop func(*txn) ([]contentSum, error)) (freed int64, err error) {
	if err := checkOwner(owner); err != nil {
		return 0, fmt.Errorf("removing artifacts: %w", err)
	}
	var gone []contentSum
	err = s.tx(ctx, "removing artifacts from", func(t *txn) error {
		sums, err := drop(t)
		if err != nil {
			return err
		}
		for _, sum := range sums {
			size, ok, err := t.dropContent(ctx, sum)
			if err != nil {
				return err
			}
			if ok {
				gone, freed = append(gone, sum), freed+size
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	_, _, err = s.removeFiles(ctx, gone)
	return freed, err
}
