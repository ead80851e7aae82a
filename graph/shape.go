package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// shapeText describes what stored checkpoints depend on, one fact a line, sorted within each kind: channels with their kinds
// and types, nodes, and what leads where.
func (b *Builder) shapeText() string {
	var lines []string
	section := func(add func()) {
		from := len(lines)
		add()
		slices.Sort(lines[from:])
	}
	section(func() {
		for _, c := range b.channels {
			s := c.spec()
			lines = append(lines, fmt.Sprintf("channel %q: %s of %s", s.name, s.kind, s.typ))
		}
	})
	section(func() {
		for _, n := range b.nodes {
			lines = append(lines, fmt.Sprintf("node %q", n.name))
		}
	})
	section(func() {
		for _, e := range b.edges {
			lines = append(lines, fmt.Sprintf("edge %q to %q", e.from, e.to))
		}
		for _, j := range b.joins {
			lines = append(lines, fmt.Sprintf("join %s to %q", quoteAll(j.from), j.to))
		}
		for _, br := range b.branches {
			targets := slices.Sorted(slices.Values(br.targets))
			lines = append(lines, fmt.Sprintf("branch from %q to %s", br.from, quoteAll(targets)))
		}
	})
	return strings.Join(lines, "\n")
}

func fingerprint(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// shapeChanges tells two shapes apart, at most eight facts long.
func shapeChanges(stored, now string) []string {
	const most = 8
	if stored == "" {
		return nil
	}
	was, is := strings.Split(stored, "\n"), strings.Split(now, "\n")
	var changes []string
	for _, l := range is {
		if !slices.Contains(was, l) {
			changes = append(changes, l+" is new")
		}
	}
	for _, l := range was {
		if !slices.Contains(is, l) {
			changes = append(changes, l+" is gone")
		}
	}
	if len(changes) > most {
		changes = append(changes[:most], fmt.Sprintf("and %d more", len(changes)-most))
	}
	return changes
}
