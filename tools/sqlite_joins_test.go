package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJoinsAreToldByNames(t *testing.T) {
	t.Parallel()
	table := func(name string, columns ...string) relation {
		r := relation{name: name}
		for _, c := range columns {
			r.columns = append(r.columns, ColumnInfo{Name: c})
		}
		return r
	}
	require.Equal(t, []string{"sales.Product_ID = Products.id", "sales.box_id = boxes.id", "sales.city_id = cities.id", "sales.staff_id = staff.id"}, joins([]relation{
		table("sales", "id", "Product_ID", "box_id", "city_id", "staff_id", "order_id", "sales_id", "_id"),
		table("Products", "id"), table("boxes", "ID"), table("cities", "id"), table("staff", "id"), table("orders", "number"),
	}), "not to itself, and only where there is an id")
	require.Empty(t, joins(nil))
}

func TestIDsInAResultAreToldByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeDatabase(t, filepath.Join(dir, "s.db"), "CREATE TABLE stations (id INTEGER PRIMARY KEY, name TEXT)", "CREATE TABLE alarms (id INTEGER PRIMARY KEY, station_id INTEGER, crew_id INTEGER)",
		"CREATE TABLE crews (id INTEGER PRIMARY KEY, size INTEGER)", "INSERT INTO crews VALUES (1, 4)",
		"INSERT INTO stations VALUES (1,'Kessel'),(3,'Lime\nQuarry')", "INSERT INTO alarms VALUES (1,3,1),(2,3,1),(3,1,1),(4,9,1),(5,NULL,1)")
	r := builtins(t, dir)
	query := func(statement string) (QueryResult, string) {
		result := mustCall(t, r, "query_sqlite", map[string]any{"db_path": "s.db", "query": statement})
		return result.Data.(QueryResult), result.Text
	}
	_, text := query("SELECT station_id, count(*) FROM alarms GROUP BY station_id ORDER BY count(*) DESC LIMIT 1")
	require.Equal(t, "1 row\nstation_id: 3\ncount(*): 2\nstation_id 3 is Lime␊Quarry (stations.name)", text)
	_, text = query("SELECT station_id, id FROM alarms ORDER BY id")
	require.True(t, strings.HasSuffix(text, "\nstation_id 1 is Kessel (stations.name)\nstation_id 3 is Lime␊Quarry (stations.name)"), text)
	for _, statement := range []string{
		"SELECT id FROM alarms", "SELECT crew_id FROM alarms", "SELECT '3' AS station_id", "SELECT 3.5 AS station_id", "SELECT station_id FROM alarms WHERE id = 99",
		"SELECT NULL AS station_id", "SELECT 7 AS unit_id",
	} {
		result, _ := query(statement)
		require.Empty(t, result.Names, statement)
	}
}
