package tools

import (
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
