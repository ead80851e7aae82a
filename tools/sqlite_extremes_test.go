package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsWithTheLargestAndSmallestValuesAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeDatabase(t, filepath.Join(dir, "hills.db"),
		`CREATE TABLE hills (id INTEGER PRIMARY KEY, name TEXT, height REAL, paths INTEGER, region_id INTEGER);`, `INSERT INTO hills VALUES (1, 'Alder', 210.5, 3, 7), (2, 'Birch', 1099, 3, 9), (3, 'Cedar', 95, 4, 8);`)
	r := builtins(t, dir)
	for query, want := range map[string]string{
		"SELECT name, height FROM hills": "\nlargest height: 1099.0 (Birch); smallest: 95.0 (Cedar)",
		"SELECT * FROM hills":            "\nlargest height: 1099.0 (2 | Birch | 3 | 9); smallest: 95.0 (3 | Cedar | 4 | 8)",
		"SELECT height, height * 2 AS double, height * 3 AS h FROM hills":    "\nlargest double: 2198.0 (1099.0 | 3297.0); smallest: 190.0 (95.0 | 285.0)",
		"SELECT height FROM hills":                                           "\nlargest height: 1099.0; smallest: 95.0",
		"SELECT name, paths FROM hills":                                      "", // two have the smallest
		"SELECT id, region_id FROM hills":                                    "",
		"SELECT name, height FROM hills LIMIT 2":                             "",
		"SELECT name, nullif(height, 95) AS height FROM hills":               "",
		"SELECT name, height || '' AS height FROM hills":                     "",
		"SELECT name, 9007199254740992 + id AS n FROM hills ORDER BY 2 DESC": "\nlargest n: 9007199254740995 (Cedar); smallest: 9007199254740993 (Alder)",
	} {
		text := mustCall(t, r, "query_sqlite", map[string]any{"db_path": "hills.db", "query": query}).Text
		if want == "" {
			require.NotContains(t, text, "largest", query)
			continue
		}
		require.Contains(t, text, want, query)
		require.LessOrEqual(t, strings.Count(text, "largest"), maxExtremeColumns, query)
	}
	text := mustCall(t, r, "query_sqlite", map[string]any{"db_path": "hills.db", "query": "SELECT name, height FROM hills, (SELECT 1 UNION ALL SELECT 2)", "max_rows": 4}).Text
	require.NotContains(t, text, "largest", "of a part of the rows nothing follows")
}
