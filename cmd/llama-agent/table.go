package main

import (
	"strings"

	"github.com/llama-agent/llama-agent/app"
)

// column is one column of a table. At most one column of a table is flexible: it gives way where lines are too long.
type column struct {
	title    string
	right    bool // align to the right
	flexible bool
}

// table returns aligned lines under a line of titles, cut to limit columns; 0 means any length. Cells become
// one inert line of text each before they are measured.
func table(columns []column, rows [][]string, limit int) string {
	const gap = 2
	cells := make([][]string, 0, len(rows)+1)
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	cells = append(cells, titles)
	for _, row := range rows {
		line := make([]string, len(columns))
		for i := range columns {
			line[i] = oneLine(app.Inert(row[i]))
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(columns))
	total, flexible := gap*(len(columns)-1), -1
	for i, c := range columns {
		for _, line := range cells {
			widths[i] = max(widths[i], width(line[i]))
		}
		total += widths[i]
		if c.flexible {
			flexible = i
		}
	}
	if flexible >= 0 && limit > 0 && total > limit {
		widths[flexible] = max(widths[flexible]-(total-limit), 8)
	}
	var b strings.Builder
	for _, line := range cells {
		var text strings.Builder
		for i, cell := range line {
			cell = truncate(cell, widths[i])
			padding := strings.Repeat(" ", widths[i]-width(cell))
			if i > 0 {
				text.WriteString(strings.Repeat(" ", gap))
			}
			if columns[i].right {
				text.WriteString(padding + cell)
			} else {
				text.WriteString(cell + padding)
			}
		}
		b.WriteString(truncate(strings.TrimRight(text.String(), " "), limit))
		b.WriteByte('\n')
	}
	return b.String()
}
