package logline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMask(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"took 5 ms":                                    "took <n> ms",
		"took 5ms, then 3.75s of 1,234":                "took <n>ms, then <n>s of <n>",
		"at -5 or +7 degrees, 3-5 days":                "at <n> or <n> degrees, <n>-<n> days",
		"worker3 on n-12 failed with E42":              "worker<n> on n-<n> failed with E<n>",
		"version v1.2.3 of 2026-01-05":                 "version v<n> of <n>-<n>-<n>",
		"since 2026-01-05T10:04:11.120Z":               "since <time>",
		"address 0x7fff5fbff8c0":                       "address <hex>",
		"commit 9fceb02d and deadbeef":                 "commit <hex> and deadbeef",
		"id 123e4567-e89b-12d3-a456-426614174000.":     "id <uuid>.",
		"from 10.0.3.17:5432 to 10.0.3.17, 10.0.0.0/8": "from <ip> to <ip>, <ip>",
		"to [2001:db8::1]:443 and fe80::1":             "to [<ip>]:<n> and <ip>",
		"std::vector at 10:04:11":                      "std::vector at <n>:<n>:<n>",
		`file "a b.txt" isn't there`:                   "file <text> isn't there",
		"can't open 'a b', it's gone":                  "can't open <text>, it's gone",
		`an open " quote 5`:                            `an open " quote <n>`,
		"writing /var/data/shop/7.json: full":          "writing <path>: full",
		"path=/api/v1/orders?id=5&x=y ok":              "path=<path> ok",
		"in ./a/b.go:12 and ~/x, ../y, C:\\a\\b":       "in <path> and <path>, <path>, C:<path>",
		"and/or 1/2":                                   "and/or <n>/<n>",
		"get https://a.example/x?y=1 now":              "get <url> now",
		"token eyJhbGciOiJIUzI1NiIsInR5cCI6":           "token <id>",
		"failed code=E42 node=n-3":                     "failed code=E42 node=n-<n>",
		"failed errcode=E42 code=\"E 42\"":             "failed errcode=E<n> code=<text>",
		"no variable part":                             "no variable part",
		"连接 10.0.0.1 超时 500 毫秒":                        "连接 <ip> 超时 <n> 毫秒",
		"第4112号小票打印失败，等待12秒":                           "第<n>号小票打印失败，等待<n>秒",
		"": "",
	} {
		got := string(Mask(nil, []byte(message)))
		require.Equal(t, want, got, "%q", message)
		require.Equal(t, want, string(Mask(nil, []byte(got))), "masking %q again", got)
	}
	require.Equal(t, "kept <n>", string(Mask([]byte("kept "), []byte("5"))))
}

func TestMaskRequest(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`"GET /api/orders/7/items?page=2 HTTP/1.1" 500`:                    "GET /api/orders/<n>/items 500",
		`"POST /u/123e4567-e89b-12d3-a456-426614174000/v1.2 HTTP/2.0" 201`: "POST /u/<uuid>/v<n> 201",
		`"GET / HTTP/1.1" 200`: "GET / 200",
		`"-" 400`:              "<text> <n>",
		`"\x16\x03" 400`:       "<text> <n>",
		"":                     "",
	} {
		require.Equal(t, want, string(MaskRequest(nil, []byte(message))))
	}
}
