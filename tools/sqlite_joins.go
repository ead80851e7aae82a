package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// joins tells by their names which columns belong together, as "sales.product_id = products.id": schemas often declare no foreign keys.
func joins(relations []relation) []string {
	var out []string
	for _, r := range relations {
		for _, c := range r.columns {
			base, found := strings.CutSuffix(strings.ToLower(c.Name), "_id")
			if !found || base == "" {
				continue
			}
			for _, other := range relations {
				if other.name != r.name && isPlural(strings.ToLower(other.name), base) && other.hasColumn("id") {
					out = append(out, fmt.Sprintf("%s.%s = %s.id", r.name, c.Name, other.name))
				}
			}
		}
	}
	return out
}

// isPlural reports whether name is word, or a plural of it as English forms most.
func isPlural(name, word string) bool {
	return slices.Contains([]string{word, word + "s", word + "es", strings.TrimSuffix(word, "y") + "ies"}, name)
}

func (r relation) hasColumn(name string) bool {
	return slices.ContainsFunc(r.columns, func(c ColumnInfo) bool { return strings.EqualFold(c.Name, name) })
}

// maxJoins bounds how many joins are told.
const maxJoins = 8

// joinText tells joins in a line that begins with before, or nothing when there are none.
func joinText(before string, relations []relation) string {
	list := joins(relations)
	if len(list) == 0 {
		return ""
	}
	return before + listNames(list, maxJoins)
}

// elsewhere names the tables that have a column of this name.
func elsewhere(relations []relation, column string) []string {
	var out []string
	for _, r := range relations {
		if r.hasColumn(column) {
			out = append(out, r.name)
		}
	}
	return out
}

// labelColumns are what tables call what a row is known by, the most telling first.
var labelColumns = []string{"name", "title", "label", "full_name", "code"}

// maxNamed bounds how many IDs of a result are told by name.
const maxNamed = 20

// namesOf tells what the IDs in a result stand for, as "product_id 3 is croissant (products.name)": a query often groups by an ID and
// leaves out the table that has the name. It is a help only, so that an error gives none.
func (d *database) namesOf(ctx context.Context, result QueryResult) []string {
	var out []string
	var relations []relation
	for i, column := range result.Columns {
		base, found := strings.CutSuffix(strings.ToLower(column), "_id")
		if !found || base == "" {
			continue
		}
		if relations == nil {
			var err error
			if relations, err = d.relations(ctx); err != nil {
				return nil
			}
		}
		at := slices.IndexFunc(relations, func(r relation) bool { return isPlural(strings.ToLower(r.name), base) && r.hasColumn("id") })
		if at < 0 {
			continue
		}
		out = append(out, d.namesIn(ctx, relations[at], column, idsIn(result.Rows, i))...)
	}
	return out[:min(len(out), maxNamed)]
}

// idsIn are the different whole numbers in a column of rows, in order.
func idsIn(rows [][]any, column int) []string {
	var out []string
	for _, row := range rows {
		id, ok := row[column].(json.Number)
		if !ok || strings.ContainsAny(id.String(), ".eE") || slices.Contains(out, id.String()) {
			continue
		}
		if out = append(out, id.String()); len(out) == maxNamed {
			break
		}
	}
	return out
}

// namesIn looks IDs up in a table.
func (d *database) namesIn(ctx context.Context, r relation, column string, ids []string) []string {
	for _, label := range labelColumns {
		if !r.hasColumn(label) || len(ids) == 0 {
			continue
		}
		var out []string
		err := d.each(ctx, fmt.Sprintf("SELECT id, %s FROM %s WHERE id IN (%s) ORDER BY id", quoteName(label), quoteName(r.name), strings.Join(ids, ",")),
			func(row []string) {
				out = append(out, fmt.Sprintf("%s %s is %s (%s.%s)", column, row[0], clip(oneLine(row[1]), 80), r.name, label))
			})
		if err != nil {
			return nil
		}
		return out
	}
	return nil
}
