package tools

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

const (
	// minExtremeRows is from how many rows on the largest and smallest values are told: with fewer they are seen at once.
	minExtremeRows = 3
	// maxExtremeColumns bounds for how many columns.
	maxExtremeColumns = 2
	// maxExtremeDigits bounds the length of numbers that are compared, and maxExtremeRow what is shown of a row, in characters.
	maxExtremeDigits = 40
	maxExtremeRow    = 160
)

// writeExtremes tells the rows with the largest and smallest values of columns of numbers, because a small model reads a superlative off
// the wrong row of a table. Columns of IDs say nothing; of a part of the rows nothing follows; when all have equal values there is none.
func writeExtremes(b *strings.Builder, r QueryResult) {
	if r.Truncated || len(r.Rows) < minExtremeRows {
		return
	}
	told := 0
	for i, name := range r.Columns {
		if told == maxExtremeColumns || isIDColumn(name) {
			continue
		}
		low, high, ok := extremes(r.Rows, i)
		if !ok {
			continue
		}
		told++
		fmt.Fprintf(b, "\nlargest %s: %s; smallest: %s", oneLine(name), extremeRow(r.Rows[high], i), extremeRow(r.Rows[low], i))
	}
}

func isIDColumn(name string) bool {
	name = strings.ToLower(name)
	return name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, ".id") || name == "rowid"
}

// extremes are the rows with the smallest and largest number in a column, if it has nothing but numbers and each of both stands in one row.
func extremes(rows [][]any, column int) (low, high int, ok bool) {
	values := make([]*big.Rat, len(rows))
	for i, row := range rows {
		number, isNumber := row[column].(json.Number)
		// An exponent can stand for more digits than there is memory.
		if !isNumber || len(number) > maxExtremeDigits || strings.ContainsAny(number.String(), "eE") {
			return 0, 0, false
		}
		value, valid := new(big.Rat).SetString(number.String())
		if !valid {
			return 0, 0, false
		}
		values[i] = value
		if value.Cmp(values[low]) < 0 {
			low = i
		}
		if value.Cmp(values[high]) > 0 {
			high = i
		}
	}
	for i, value := range values {
		if i != low && value.Cmp(values[low]) == 0 || i != high && value.Cmp(values[high]) == 0 {
			return 0, 0, false
		}
	}
	return low, high, true
}

// extremeRow is a row with the value first.
func extremeRow(row []any, column int) string {
	text := cellText(row[column])
	var others []string
	for i, cell := range row {
		if i != column {
			others = append(others, cellText(cell))
		}
	}
	if len(others) > 0 {
		text += " (" + clip(strings.Join(others, " | "), maxExtremeRow) + ")"
	}
	return text
}
