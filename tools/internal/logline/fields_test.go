package logline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func fieldsOf(line string) []string {
	found := []string{}
	scans := []FieldScan{ScanPairs([]byte(line))}
	if strings.HasPrefix(line, "{") {
		scans = append(scans, ScanKeys([]byte(line)))
	}
	for _, scan := range scans {
		for {
			field, value, ok := scan.Next()
			if !ok {
				break
			}
			found = append(found, field.String()+"="+string(value))
		}
	}
	return found
}

func TestFieldsOfALine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"failed code=E42 node=n-3":                                {"code=E42", "node=n-3"},
		"code=E42, (node=n-3); code=7.":                           {"code=E42", "node=n-3", "code=7"},
		`code="E 42" node='n 3' code=`:                            {"code=E 42", "node=n 3"},
		"errcode=1 my_node=2 a.code=3 x-node=4 mode=5 encode=6":   {},
		"code = 5 code==5":                                        {"code==5"},
		`{"code":"E42","node": 3,"msg":"x"}`:                      {"code=E42", "node=3"},
		`{"a":{"code" : true},"node":null,"nodes":[1],"code":{}}`: {"code=true"},
		`{"msg":"failed code=E42 node=\"n 3\"","node":"n4"}`:      {"code=E42", "node=n", "node=n4"},
		`text {"code":"E42"}`:                                     {},
		"":                                                        {},
	} {
		require.Equal(t, want, fieldsOf(line), line)
	}
	long := fieldsOf("code=" + strings.Repeat("é", 100))
	require.Equal(t, []string{"code=" + strings.Repeat("é", maxFieldValue/2)}, long)
}

// A line of nothing but equals signs must not take quadratic time: the test would not end.
func TestScanningFieldsIsLinear(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"=", `ode"`, `"code":`, "code=", "node=\"", `{"`} {
		fieldsOf("{" + strings.Repeat(part, 1<<18/len(part)))
		fieldsOf(strings.Repeat(part, 1<<18/len(part)))
	}
}
