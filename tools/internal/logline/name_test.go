package logline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"E2041 depth gauge timeout on buoy B-07":                    "E2041 B-07",
		"[web01] ORA-00600: internal error, see node-3.":            "web01 ORA-00600 node-3",
		"主机web-3超时，错误E17":                                           "web-3 E17",
		"took 5ms at 10:04:11, 3 of 12, -5":                         "",
		"v2 and v1.2.3 of api2.example.com":                         "",
		"valve=V3 open, V12 shut":                                   "V3 V12",
		"open /var/data7/x3 and C:\\a1\\b2 failed":                  "",
		"key1=5 id2=web-4":                                          "web-4",
		"commit 9fceb02d, token eyJhbGciOiJIUzI1NiIsInR5cCI6aaaa12": "",
		"123e4567-e89b-12d3-a456-426614174000":                      "",
		"x1":                                                        "x1",
		"":                                                          "",
	} {
		var names []string
		Names([]byte(message), func(name []byte) { names = append(names, string(name)) })
		require.Equal(t, want, strings.Join(names, " "), message)
	}
}
