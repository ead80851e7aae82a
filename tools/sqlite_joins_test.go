package tools

import (
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
