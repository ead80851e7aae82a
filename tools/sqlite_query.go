package tools

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tools/internal/readdb"
)

const (
	// maxCellBytes is the most of a text value that a query returns.
	maxCellBytes = 64 << 10
	// maxCountedRows bounds how far a query is run on to count the rows that are not shown.
	maxCountedRows = 1_000_000
)

type queryArgs struct {
	DBPath  string `json:"db_path" jsonschema:"SQLite file, or text file with a table, relative to the workspace" arg:"minlen=1"`
	Query   string `json:"query" jsonschema:"one SQL SELECT statement; it does all counting, adding and joining" arg:"minlen=1,maxlen=2000"`
	MaxRows int    `json:"max_rows,omitempty" jsonschema:"most rows to return" arg:"min=1,max=10000,default=50"`
}

// QueryResult is the Data of query_sqlite.
type QueryResult struct {
	DBPath  string   `json:"db_path"`
	Columns []string `json:"columns"`
	// Rows hold null, json.Number (64-bit integers are exact), string, or [BlobValue].
	Rows [][]any `json:"rows"`
	// TotalRows counts all rows of the result, or is nil when that was not worth the time.
	TotalRows *int `json:"total_rows"`
	Truncated bool `json:"truncated"` // there are more rows than Rows
	// Names tell what IDs in the rows stand for, by another table, such as "product_id 3 is croissant (products.name)".
	Names []string `json:"names,omitempty"`
	// Content is the whole of a short text file with a table in which the query found nothing.
	Content string `json:"content,omitempty"`
}

// foundNothing reports whether a result has no rows, or only counted or added none.
func (q QueryResult) foundNothing() bool {
	if len(q.Rows) > 1 {
		return false
	}
	for _, row := range q.Rows {
		if slices.ContainsFunc(row, func(cell any) bool { return cell != nil && cell != json.Number("0") }) {
			return false
		}
	}
	return true
}

// A BlobValue stands for a BLOB.
type BlobValue struct {
	BlobBytes int    `json:"blob_bytes"`
	SHA256    string `json:"sha256"`
}

func queryTool(w *workspace, options SQLiteOptions) Tool {
	return mustFunc(Spec{
		Name:        "query_sqlite",
		Description: "Answers a question from a SQLite database or a table (CSV, JSON) with one SELECT, which can count, sum, join, group and sort.",
		Takes:       []Subject{SubjectDatabase, SubjectTable},
		Path:        "db_path",
		ReadOnly:    true,
		Limits: []string{
			"one statement that only reads; the database refuses others",
			fmt.Sprintf("at most %d rows and %d characters; %s", options.MaxRows, options.MaxChars, options.Timeout),
		},
	}, func(ctx context.Context, args queryArgs) (Result, error) {
		db, problem := w.openDatabase(ctx, args.DBPath)
		if problem != nil {
			return Result{}, problem
		}
		defer db.Close() //nolint:errcheck // it was only read; the answer does not depend on how it closes
		queryCtx, cancel := context.WithTimeout(ctx, options.Timeout)
		defer cancel()
		result, err := db.query(queryCtx, args, options)
		if db.changed() {
			return Result{}, errChanged(db.target)
		}
		if err == nil {
			result.Names = db.namesOf(queryCtx, result)
			if db.isText && result.foundNothing() {
				result.Content = w.shortContent(ctx, db.target.show)
			}
			return Result{Data: result, Text: queryText(result)}, nil
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return Result{}, &Error{
				Kind:    KindTimeout,
				Message: fmt.Sprintf("query_sqlite: the query did not finish within %s and was stopped", options.Timeout),
				Fix:     "make it cheaper: join on keys, filter earlier, and bound recursion",
			}
		}
		return Result{}, db.explainQuery(ctx, "query_sqlite", args.Query, err)
	})
}

func (d *database) query(ctx context.Context, args queryArgs, options SQLiteOptions) (QueryResult, error) {
	result := QueryResult{DBPath: d.target.show, Rows: [][]any{}}
	rows, err := d.Query(ctx, args.Query)
	if err != nil {
		return result, err
	}
	defer rows.Close() //nolint:errcheck // Next has returned its error
	result.Columns = rows.Columns()
	limit, left, total := min(args.MaxRows, options.MaxRows), options.MaxChars, 0
	started := time.Now()
	for {
		ok, err := rows.Next()
		if err != nil {
			if result.Truncated && ctx.Err() != nil {
				return result, nil // the rows are there; only their number is not
			}
			return result, err
		}
		if !ok {
			result.TotalRows = &total
			return result, nil
		}
		total++
		if result.Truncated || len(result.Rows) == limit || left <= 0 && len(result.Rows) > 0 {
			result.Truncated = true
			// Counting on must not cost more than what was asked for.
			if total >= maxCountedRows || total%100 == 0 && time.Since(started) > options.Timeout/4 {
				return result, nil
			}
			continue
		}
		row := make([]any, len(result.Columns))
		for i := range row {
			row[i] = cellOf(rows.Value(i, min(maxCellBytes, max(left, 256))))
			left -= cellSize(row[i])
		}
		result.Rows = append(result.Rows, row)
	}
}

// cellOf returns a value as it is marshalled: exact, valid UTF-8, and bounded.
func cellOf(v readdb.Value) any {
	switch v.Type {
	case readdb.Int:
		return json.Number(strconv.FormatInt(v.Int, 10))
	case readdb.Float:
		if math.IsInf(v.Float, 0) || math.IsNaN(v.Float) {
			return strconv.FormatFloat(v.Float, 'g', -1, 64)
		}
		return floatNumber(v.Float)
	case readdb.Text:
		if v.Bytes <= len(v.Text) {
			return validText(v.Text)
		}
		head := string(wholeRunes([]byte(v.Text)))
		return fmt.Sprintf("%s… [%d more bytes]", validText(head), v.Bytes-len(head))
	case readdb.Blob:
		return BlobValue{BlobBytes: v.Bytes, SHA256: hex.EncodeToString(v.SHA256[:])}
	}
	return nil
}

// floatNumber writes a float so that it reads back the same and still looks like one: 12.0, not 12.
func floatNumber(f float64) json.Number {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return json.Number(strconv.FormatFloat(f, 'f', 1, 64))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func cellSize(cell any) int {
	if text, ok := cell.(string); ok {
		return utf8.RuneCountInString(text)
	}
	return 16
}

// cellText writes a value for the model in one line.
func cellText(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "NULL"
	case BlobValue:
		return fmt.Sprintf("BLOB of %s, sha256 %s", plural(v.BlobBytes, "byte"), v.SHA256[:12])
	}
	text := fmt.Sprint(cell)
	if text == "" {
		return "''"
	}
	return strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\t", `\t`, "|", `\|`).Replace(text)
}

// queryText shows one row as name: value lines, and several as a table with | between columns.
func queryText(r QueryResult) string {
	var b strings.Builder
	switch {
	case len(r.Rows) == 0:
		fmt.Fprintf(&b, "0 rows (columns: %s)", oneLine(strings.Join(r.Columns, ", ")))
		return b.String() + allOfIt(r.Content)
	case r.Truncated && r.TotalRows == nil:
		fmt.Fprintf(&b, "the first %s; there are more", plural(len(r.Rows), "row"))
	case r.Truncated:
		fmt.Fprintf(&b, "%s; the first %d", plural(*r.TotalRows, "row"), len(r.Rows))
	default:
		b.WriteString(plural(len(r.Rows), "row"))
	}
	if len(r.Rows) == 1 && !r.Truncated {
		for i, name := range r.Columns {
			fmt.Fprintf(&b, "\n%s: %s", oneLine(name), cellText(r.Rows[0][i]))
		}
		writeNames(&b, r.Names)
		return b.String() + allOfIt(r.Content)
	}
	b.WriteByte('\n')
	b.WriteString(oneLine(strings.Join(r.Columns, " | ")))
	writeRows(&b, r.Rows)
	if r.Truncated {
		b.WriteString("\n[more rows left out; aggregate, filter, or use LIMIT and OFFSET]")
	}
	writeExtremes(&b, r)
	writeNames(&b, r.Names)
	return b.String()
}

func writeNames(b *strings.Builder, names []string) {
	for _, name := range names {
		b.WriteString("\n" + name)
	}
}

func writeRows(b *strings.Builder, rows [][]any) {
	for _, row := range rows {
		b.WriteByte('\n')
		for i, cell := range row {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(cellText(cell))
		}
	}
}
