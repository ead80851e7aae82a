package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/human"
	"github.com/llama-agent/llama-agent/tui/cells"
)

const (
	columnGap   = 2 // columns between two cells
	leastColumn = 8 // columns that a flexible cell keeps
	// mostCellLines is on how many lines a cell is shown at most.
	mostCellLines = 3
)

// tableLines shows a table in a width, at a time: columns side by side while they fit, else each row as a record.
func tableLines(t *app.Table, width int, now time.Time) []cells.Line {
	if t == nil || width <= 0 {
		return nil
	}
	texts := make([][]string, len(t.Rows))
	for i, cellsOfRow := range t.Rows {
		texts[i] = make([]string, len(t.Columns))
		for j := range min(len(cellsOfRow), len(t.Columns)) {
			texts[i][j] = oneLine(cellText(cellsOfRow[j], now))
		}
	}
	widths, fits := columnWidths(t.Columns, texts, width)
	if !fits {
		return records(t.Columns, texts, width)
	}
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	out := []cells.Line{tableRow(t.Columns, titles, widths, cells.Style{Role: cells.Muted, Attr: cells.Bold}).Clip(width)}
	for _, line := range texts {
		out = append(out, rowLines(t.Columns, line, widths, width)...)
	}
	return out
}

// rowLines is a row, with the last cell on several lines when it gives way and is too long for one.
func rowLines(columns []app.TableColumn, texts []string, widths []int, width int) []cells.Line {
	last := len(columns) - 1
	if last < 1 || !columns[last].Flexible || cells.Width(texts[last]) <= widths[last] || 3*widths[last] < width {
		return []cells.Line{tableRow(columns, texts, widths, cells.Style{}).Clip(width)}
	}
	first := cells.Concat(tableRow(columns[:last], texts[:last], widths[:last], cells.Style{}), cells.Plain(strings.Repeat(" ", columnGap)))
	rest := cells.Plain(strings.Repeat(" ", first.Width()))
	lines := cells.Wrapping{Width: width, First: first, Rest: rest}.Lines(cells.Plain(texts[last]))
	if len(lines) > mostCellLines {
		lines = lines[:mostCellLines]
		lines[mostCellLines-1] = cells.Concat(lines[mostCellLines-1], cells.Plain(" …")).Clip(width)
	}
	return lines
}

// columnWidths returns how wide the columns are when the flexible one gives way, and whether that is enough.
func columnWidths(columns []app.TableColumn, texts [][]string, width int) ([]int, bool) {
	widths := make([]int, len(columns))
	total, flexible := columnGap*(len(columns)-1), -1
	for j, c := range columns {
		widths[j] = cells.Width(c.Title)
		for _, line := range texts {
			widths[j] = max(widths[j], cells.Width(line[j]))
		}
		total += widths[j]
		if c.Flexible {
			flexible = j
		}
	}
	if total > width && flexible >= 0 {
		least := min(widths[flexible], leastColumn)
		now := max(widths[flexible]-(total-width), least)
		total -= widths[flexible] - now
		widths[flexible] = now
	}
	return widths, total <= width
}

func tableRow(columns []app.TableColumn, texts []string, widths []int, style cells.Style) cells.Line {
	var out cells.Line
	for j, c := range columns {
		if j > 0 {
			out = cells.Concat(out, cells.Plain(strings.Repeat(" ", columnGap)))
		}
		cell := cells.Styled(texts[j], style)
		if c.Right {
			cell = cell.AlignRight(widths[j])
		} else {
			cell = cell.Pad(widths[j])
		}
		out = cells.Concat(out, cell)
	}
	return out
}

// records shows the rows of a table one below the other, a cell a line.
func records(columns []app.TableColumn, texts [][]string, width int) []cells.Line {
	var out []cells.Line
	for i, line := range texts {
		if i > 0 {
			out = append(out, nil)
		}
		for j, c := range columns {
			if line[j] == "" {
				continue
			}
			title := cells.Styled(strings.ToLower(c.Title)+": ", cells.Style{Role: cells.Muted})
			out = append(out, cells.Wrapping{Width: width, First: title, Rest: cells.Plain("  ")}.Lines(cells.Plain(line[j]))...)
		}
	}
	return out
}

func cellText(cell any, now time.Time) string {
	switch v := cell.(type) {
	case int:
		return human.Count(v)
	case app.Bytes:
		return human.Bytes(int64(v))
	case time.Time:
		return human.Age(v, now)
	}
	return fmt.Sprint(cell)
}

// tablePlain is the text of a table for searching.
func tablePlain(t *app.Table) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, line := range t.Rows {
		for _, cell := range line {
			if _, isTime := cell.(time.Time); !isTime {
				fmt.Fprint(&b, cell, " ")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// argumentText shows the arguments of a call in one line: path=a.txt limit=5.
func argumentText(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return oneLine(string(raw))
	}
	var parts []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return oneLine(string(raw))
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return oneLine(string(raw))
		}
		parts = append(parts, fmt.Sprintf("%s=%s", name, argumentValue(value)))
	}
	return strings.Join(parts, " ")
}

// argumentValue is a value without the quotes of a string that needs none.
func argumentValue(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || s == "" || strings.ContainsAny(s, " \"'\t\n") {
		return oneLine(string(raw))
	}
	return s
}
