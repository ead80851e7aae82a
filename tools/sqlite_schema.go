package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/tools/internal/readdb"
)

// A relation is a table or view with its columns.
type relation struct {
	name    string
	kind    string // table, view, or virtual
	columns []ColumnInfo
}

// ColumnInfo describes a column of a table or view.
type ColumnInfo struct {
	Name       string   `json:"name"`
	Type       string   `json:"type,omitempty"` // as declared
	NotNull    bool     `json:"not_null,omitempty"`
	Default    string   `json:"default,omitempty"` // as SQL
	PrimaryKey int      `json:"primary_key,omitempty"`
	References string   `json:"references,omitempty"` // table(column)
	Values     []string `json:"values,omitempty"`     // all distinct values of a text column that has few
}

// tableNames returns the tables and views of a database, or nil when they cannot be read quickly.
func tableNames(ctx context.Context, t target) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	head, err := t.head()
	if err != nil {
		return nil
	}
	db, err := t.openDatabase(head)
	if err != nil {
		return nil
	}
	defer db.Close() //nolint:errcheck // it was only read; the answer does not depend on how it closes
	relations, err := db.relations(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(relations))
	for i, r := range relations {
		names[i] = r.name
	}
	return names
}

// listNames joins at most limit names and says how many more there are.
func listNames(names []string, limit int) string {
	text := strings.Join(names[:min(limit, len(names))], ", ")
	if more := len(names) - limit; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// relations returns the tables and views with their columns, by name. SQLite's own and the shadow tables of virtual
// tables are left out.
func (d *database) relations(ctx context.Context) ([]relation, error) {
	var out []relation
	err := d.each(ctx, `SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table','view','virtual')
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`, func(row []string) {
		out = append(out, relation{name: row[0], kind: row[1]})
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		// A view over a table that is gone has no columns to tell, which is no reason to hide the others.
		columns, err := d.columns(ctx, out[i].name)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		out[i].columns = columns
	}
	return out, nil
}

func (d *database) columns(ctx context.Context, table string) ([]ColumnInfo, error) {
	var out []ColumnInfo
	err := d.each(ctx, `SELECT name, type, "notnull", coalesce(dflt_value, ''), pk FROM pragma_table_xinfo(`+quoteText(table)+`)
		WHERE hidden <> 1`, func(row []string) {
		pk := 0
		if _, err := fmt.Sscan(row[4], &pk); err != nil {
			pk = 0
		}
		out = append(out, ColumnInfo{Name: row[0], Type: row[1], NotNull: row[2] == "1", Default: row[3], PrimaryKey: pk})
	})
	return out, err
}

// each runs a statement and gives every row as text, NULL as "".
func (d *database) each(ctx context.Context, statement string, fn func(row []string)) error {
	rows, err := d.Query(ctx, statement)
	if err != nil {
		return err
	}
	for {
		ok, err := rows.Next()
		if !ok {
			return errors.Join(err, rows.Close())
		}
		row := make([]string, len(rows.Columns()))
		for i := range row {
			row[i] = plainValue(rows.Value(i, maxCellBytes))
		}
		fn(row)
	}
}

// plainValue writes a value of the schema as text.
func plainValue(v readdb.Value) string {
	if v.Type == readdb.Null {
		return ""
	}
	text, _ := cellOf(v).(string)
	if v.Type == readdb.Int {
		text = fmt.Sprint(v.Int)
	}
	return text
}

// quoteName quotes an identifier for SQL, quoteText a string.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// explainQuery turns an error of a statement into one that lists what there is, nearest first.
func (d *database) explainQuery(ctx context.Context, tool, statement string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	out := &Error{Kind: KindFailed, Message: tool + ": " + strings.TrimPrefix(err.Error(), "readdb: ")}
	problem, isSQLite := errors.AsType[*readdb.Error](err)
	switch {
	case errors.Is(err, readdb.ErrSeveral):
		out.Kind, out.Message = KindInvalidArguments, tool+": the query has more than one statement, and none was run"
		out.Fix = "send one SELECT statement"
		return out
	case errors.Is(err, readdb.ErrNone):
		out.Kind, out.Message, out.Fix = KindInvalidArguments, tool+": the query has no statement", "send one SELECT statement"
		return out
	case errors.Is(err, readdb.ErrNotReading), isSQLite && problem.Refused():
		out.Kind, out.Message = KindDenied, tool+": the database refused the statement, because it does more than read"
		if isSQLite {
			out.Message += " (" + problem.Message + ")"
		}
		out.Fix = "only SELECT and reading PRAGMA statements are possible; nothing was changed"
		out.Final = true
		return out
	case !isSQLite:
		return out
	}
	switch problem.Primary() {
	case readdb.TooBig:
		out.Kind, out.Fix = KindLimit, "a value is larger than 64 MB; select less of it, for example with substr or length"
	case readdb.Busy:
		out.Fix = "another program has locked the database; try again later"
	case readdb.Corrupt, readdb.NotADB:
		out.Fix = "the file is damaged; tell the user"
	case readdb.Generic:
		d.explainNames(ctx, out, problem, statement)
	}
	return out
}

// explainNames adds the place of an error in the statement, and the real names for one that does not exist.
func (d *database) explainNames(ctx context.Context, out *Error, problem *readdb.Error, statement string) {
	out.Kind = KindInvalidArguments
	if problem.Offset >= 0 && problem.Offset < len(statement) && !strings.HasPrefix(problem.Message, "no such") {
		out.Message += ", at " + quoteNear([]byte(statement), problem.Offset)
	}
	relations, err := d.relations(ctx)
	if err != nil || len(relations) == 0 {
		if err == nil {
			out.Fix = "the database has no tables"
		}
		return
	}
	missing := ""
	for _, prefix := range []string{"no such column: ", "no such table: ", "ambiguous column name: "} {
		if name, ok := strings.CutPrefix(problem.Message, prefix); ok {
			missing = name
		}
	}
	if missing == "" {
		out.Fix = "the tables are " + describeRelations(relations, "", 6)
		return
	}
	bare := missing[strings.LastIndexByte(missing, '.')+1:]
	var names []string
	for _, r := range relations {
		if strings.HasPrefix(problem.Message, "no such table") {
			names = append(names, r.name)
			continue
		}
		for _, c := range r.columns {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	tables := elsewhere(relations, bare)
	switch near := nearest(bare, names, 3); {
	case strings.HasPrefix(problem.Message, "ambiguous"):
	case strings.HasPrefix(problem.Message, "no such column") && len(tables) > 0:
		out.Fix = fmt.Sprintf("%s is a column of %s: write %s.%s, and have that table in the query; ", bare, listNames(tables, 3), tables[0], bare)
	case len(near) > 0:
		out.Fix = "did you mean " + quoteList(near, " or ") + "? "
	}
	out.Fix += "the tables are " + describeRelations(relations, bare, 6) + joinText("; they join by ", relations)
}

// describeRelations lists tables with their columns, those whose name is like near first.
func describeRelations(relations []relation, near string, limit int) string {
	sorted := slices.Clone(relations)
	if near != "" {
		slices.SortStableFunc(sorted, func(a, b relation) int { return relationScore(near, a) - relationScore(near, b) })
	}
	var parts []string
	for _, r := range sorted[:min(limit, len(sorted))] {
		names := make([]string, len(r.columns))
		for i, c := range r.columns {
			names[i] = c.Name
		}
		parts = append(parts, fmt.Sprintf("%s(%s)", r.name, listNames(names, 30)))
	}
	text := strings.Join(parts, ", ")
	if more := len(sorted) - limit; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// relationScore is lower the more a table or one of its columns looks like a name.
func relationScore(near string, r relation) int {
	best := 1000
	if score, alike := distance(near, r.name); alike {
		best = score
	}
	for _, c := range r.columns {
		if score, alike := distance(near, c.Name); alike {
			best = min(best, score)
		}
	}
	return best
}
