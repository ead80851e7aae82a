package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/tools/internal/readdb"
)

const (
	// maxShownValues is up to how many distinct values of a text column are listed.
	maxShownValues = 12
	// maxValueChars is how long a text value may be to be listed.
	maxValueChars = 40
	// maxDescribed bounds how many tables are described at once.
	maxDescribed = 60
	sampleRows   = 3
	// maxSampleChars is the most of a text value that a sample row shows.
	maxSampleChars = 80
)

type describeArgs struct {
	DBPath    string `json:"db_path" jsonschema:"SQLite file, or text file with a table, relative to the workspace" arg:"minlen=1"`
	TableName string `json:"table_name,omitempty" jsonschema:"table or view; all of them when left out" arg:"maxlen=200,default="`
}

// DatabaseInfo is the Data of describe_sqlite_table.
type DatabaseInfo struct {
	DBPath  string      `json:"db_path"`
	Tables  []TableInfo `json:"tables"`
	Omitted int         `json:"omitted,omitempty"` // further tables
	// Joins are columns that belong together by their names, such as "sales.product_id = products.id".
	Joins []string `json:"joins,omitempty"`
}

// TableInfo describes a table or view.
type TableInfo struct {
	Name    string       `json:"name"`
	Kind    string       `json:"kind"` // table, view, or virtual
	Rows    *int64       `json:"rows"` // nil when counting took too long
	Columns []ColumnInfo `json:"columns"`
	Indexes []string     `json:"indexes,omitempty"`     // name(columns), when one table is described
	Sample  [][]any      `json:"sample_rows,omitempty"` // when one table is described
	Problem string       `json:"problem,omitempty"`     // why something is missing
}

func describeTool(w *workspace, options SQLiteOptions) Tool {
	return mustFunc(Spec{
		Name:        "describe_sqlite_table",
		Description: "Shows the tables of a SQLite database with their columns and number of rows, or one table in detail.",
		Takes:       []Subject{SubjectDatabase},
		Path:        "db_path",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("at most %d tables at once; %s", maxDescribed, options.Timeout),
			fmt.Sprintf("lists the values of text columns with at most %d of them", maxShownValues),
		},
	}, func(ctx context.Context, args describeArgs) (Result, error) {
		db, problem := w.openDatabase(ctx, args.DBPath)
		if problem != nil {
			return Result{}, problem
		}
		defer db.Close() //nolint:errcheck // it was only read; the answer does not depend on how it closes
		callCtx, cancel := context.WithTimeout(ctx, options.Timeout)
		defer cancel()
		info, err := db.describe(callCtx, args.TableName)
		if db.changed() {
			return Result{}, errChanged(db.target)
		}
		if err == nil {
			return Result{Data: info, Text: describeText(info, args.TableName != "")}, nil
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return Result{}, &Error{
				Kind:    KindTimeout,
				Message: fmt.Sprintf("describe_sqlite_table: reading the schema took longer than %s", options.Timeout),
				Fix:     "name one table",
			}
		}
		if problem, ok := errors.AsType[*Error](err); ok {
			return Result{}, problem
		}
		return Result{}, db.explainQuery(ctx, "describe_sqlite_table", "", err)
	})
}

func (d *database) describe(ctx context.Context, table string) (DatabaseInfo, error) {
	info := DatabaseInfo{DBPath: d.target.show, Tables: []TableInfo{}}
	relations, err := d.relations(ctx)
	if err != nil {
		return info, err
	}
	if table == "" {
		info.Omitted = max(0, len(relations)-maxDescribed)
		for _, r := range relations[:min(maxDescribed, len(relations))] {
			t := d.describeRelation(ctx, r, len(relations) <= 12)
			if ctx.Err() != nil {
				return info, ctx.Err()
			}
			info.Tables = append(info.Tables, t)
		}
		info.Joins = joins(relations)
		return info, nil
	}
	for _, r := range relations {
		if strings.EqualFold(r.name, table) {
			t := d.describeRelation(ctx, r, true)
			if err := d.detailSoon(ctx, &t); err != nil {
				if ctx.Err() != nil {
					return info, ctx.Err()
				}
				t.Problem = strings.TrimPrefix(t.Problem+"; no sample rows: "+reasonOf(err), "; ")
			}
			info.Tables = append(info.Tables, t)
			return info, nil
		}
	}
	return info, unknownTable(d.target.show, table, relations)
}

func unknownTable(path, table string, relations []relation) *Error {
	names := make([]string, len(relations))
	for i, r := range relations {
		names[i] = r.name
	}
	out := &Error{
		Kind:    KindNotFound,
		Message: fmt.Sprintf("%q has no table %q", path, table),
		Fix:     "the database has no tables",
		Data:    map[string]any{"tables": names},
	}
	if len(names) > 0 {
		out.Fix = "the tables are " + listNames(names, 30)
	}
	if near := nearest(table, names, 2); len(near) > 0 {
		out.Fix = "did you mean " + quoteList(near, " or ") + "? " + out.Fix
	}
	return out
}

// describeRelation counts rows and lists the values of text columns that have few. Either may be missing: a broken view
// or a huge table is no reason to say nothing about the rest.
func (d *database) describeRelation(ctx context.Context, r relation, withValues bool) TableInfo {
	t := TableInfo{Name: r.name, Kind: r.kind, Columns: r.columns}
	count, err := d.limited(ctx, "SELECT count(*) FROM "+quoteName(r.name))
	if err != nil {
		t.Problem = "rows not counted: " + reasonOf(err)
		return t
	}
	var rows int64
	if _, err := fmt.Sscan(count[0], &rows); err == nil {
		t.Rows = &rows
	}
	for i := range t.Columns {
		if withValues && isTextual(t.Columns[i].Type) && rows > 0 {
			t.Columns[i].Values = d.values(ctx, r.name, t.Columns[i].Name)
		}
	}
	return t
}

func reasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	return err.Error()
}

// limited runs a statement for at most a second and returns the first column of its rows.
func (d *database) limited(ctx context.Context, statement string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var out []string
	err := d.each(ctx, statement, func(row []string) { out = append(out, row[0]) })
	if err == nil && len(out) == 0 {
		out = []string{""}
	}
	return out, err
}

// values returns the distinct values of a column when they are few and short, else nil. It looks at the first rows of a
// large table only; a value list is a hint for writing a condition.
func (d *database) values(ctx context.Context, table, column string) []string {
	name := quoteName(column)
	found, err := d.limited(ctx, fmt.Sprintf(
		"SELECT DISTINCT %s FROM (SELECT %s FROM %s LIMIT 20000) WHERE typeof(%s) = 'text' ORDER BY 1 LIMIT %d",
		name, name, quoteName(table), name, maxShownValues+1))
	if err != nil || len(found) > maxShownValues || len(found) == 1 && found[0] == "" {
		return nil
	}
	for _, v := range found {
		if len(cutChars(v, maxValueChars)) < len(v) {
			return nil
		}
	}
	return found
}

// isTextual applies SQLite's rule for text affinity, and takes columns without a type as well.
func isTextual(declared string) bool {
	upper := strings.ToUpper(declared)
	return upper == "" || strings.Contains(upper, "CHAR") || strings.Contains(upper, "TEXT") || strings.Contains(upper, "CLOB") ||
		strings.Contains(upper, "STRING") || strings.Contains(upper, "ENUM")
}

// detailSoon is detail for at most a second: the rows of a view may take for ever.
func (d *database) detailSoon(ctx context.Context, t *TableInfo) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return d.detail(ctx, t)
}

// detail adds foreign keys, indexes and sample rows.
func (d *database) detail(ctx context.Context, t *TableInfo) error {
	err := d.each(ctx, `SELECT "from", "table", coalesce("to", '') FROM pragma_foreign_key_list(`+quoteText(t.Name)+`)`, func(row []string) {
		for i := range t.Columns {
			if strings.EqualFold(t.Columns[i].Name, row[0]) {
				t.Columns[i].References = row[1]
				if row[2] != "" {
					t.Columns[i].References += "(" + row[2] + ")"
				}
			}
		}
	})
	if err != nil {
		return err
	}
	err = d.each(ctx, `SELECT l.name, l."unique", (SELECT group_concat(coalesce(i.name, 'expression'), ', ') FROM pragma_index_info(l.name) i)
		FROM pragma_index_list(`+quoteText(t.Name)+`) l ORDER BY l.seq`, func(row []string) {
		index := row[0] + "(" + row[2] + ")"
		if row[1] == "1" {
			index += " unique"
		}
		t.Indexes = append(t.Indexes, index)
	})
	if err != nil {
		return err
	}
	rows, err := d.Query(ctx, fmt.Sprintf("SELECT * FROM %s LIMIT %d", quoteName(t.Name), sampleRows))
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Next has returned its error
	for {
		ok, err := rows.Next()
		if !ok {
			return err
		}
		row := make([]any, len(rows.Columns()))
		for i := range row {
			row[i] = sampleCell(rows.Value(i, maxSampleChars*4))
		}
		t.Sample = append(t.Sample, row)
	}
}

func sampleCell(v readdb.Value) any {
	cell := cellOf(v)
	if text, ok := cell.(string); ok {
		return clip(text, maxSampleChars)
	}
	return cell
}

func describeText(info DatabaseInfo, detailed bool) string {
	if len(info.Tables) == 0 {
		return oneLine(info.DBPath) + ": no tables"
	}
	var b strings.Builder
	if !detailed {
		fmt.Fprintf(&b, "%s: %d tables and views", oneLine(info.DBPath), len(info.Tables)+info.Omitted)
	}
	for i, t := range info.Tables {
		if i > 0 || !detailed {
			b.WriteByte('\n')
		}
		writeTable(&b, t, detailed)
	}
	if len(info.Joins) > 0 {
		b.WriteString("\njoins: " + listNames(info.Joins, maxJoins))
	}
	if info.Omitted > 0 {
		fmt.Fprintf(&b, "\n[%s more; name one to see it]", plural(info.Omitted, "table"))
	}
	return b.String()
}

// writeTable puts a table in one line, and its details in one line a column.
func writeTable(b *strings.Builder, t TableInfo, detailed bool) {
	fmt.Fprintf(b, "%s %s", t.Kind, oneLine(t.Name))
	if t.Rows != nil {
		fmt.Fprintf(b, ", %s", plural(*t.Rows, "row"))
	}
	if t.Problem != "" {
		fmt.Fprintf(b, " (%s)", oneLine(t.Problem))
	}
	b.WriteString(": ")
	for i, c := range t.Columns {
		switch {
		case detailed:
			b.WriteString("\n- ")
		case i > 0:
			b.WriteString(", ")
		}
		writeColumn(b, c, detailed)
	}
	if !detailed {
		return
	}
	for _, index := range t.Indexes {
		fmt.Fprintf(b, "\nindex %s", oneLine(index))
	}
	if len(t.Sample) > 0 {
		fmt.Fprintf(b, "\nfirst %s:", plural(len(t.Sample), "row"))
		writeRows(b, t.Sample)
	}
}

func writeColumn(b *strings.Builder, c ColumnInfo, detailed bool) {
	b.WriteString(oneLine(c.Name))
	if c.Type != "" {
		b.WriteString(" " + oneLine(c.Type))
	}
	if c.PrimaryKey > 0 {
		b.WriteString(" primary key")
	}
	if detailed && c.NotNull {
		b.WriteString(" not null")
	}
	if detailed && c.Default != "" {
		b.WriteString(" default " + oneLine(c.Default))
	}
	if c.References != "" {
		b.WriteString(" references " + oneLine(c.References))
	}
	if len(c.Values) > 0 {
		quoted := make([]string, len(c.Values))
		for i, v := range c.Values {
			quoted[i] = oneLine(quoteText(v))
		}
		fmt.Fprintf(b, " (values: %s)", strings.Join(quoted, ", "))
	}
}
