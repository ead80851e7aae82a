package logline

import "testing"

func BenchmarkParse(b *testing.B) {
	for name, line := range map[string]string{
		"text":   "2026-01-05 00:00:00,061 INFO  [worker-10] com.shop.http.RequestLogger - Order 4120 accepted with 449 items",
		"thread": "2026-01-05 00:00:00.061 [http-nio-8080-exec-10] INFO com.shop.http.RequestLogger - Order 4120 accepted with 449 items",
		"syslog": "Jan  5 10:04:11 host sshd[42]: Failed password for root from 10.0.0.1 port 22 ssh2",
		"access": `127.0.0.1 - - [05/Jan/2026:10:04:11 -0700] "GET /api/v1/orders HTTP/1.1" 200 2326 "-" "curl/8"`,
		"json":   `{"time":"2026-01-05T10:04:11Z","level":"INFO","msg":"order accepted","order":4120,"items":449,"node":"n3"}`,
		"logfmt": `time=2026-01-05T10:04:11Z level=info msg="order accepted" order=4120 items=449 node=n3`,
		"trace":  "\tat com.shop.db.ConnectionPool.take(ConnectionPool.java:312)",
		"other":  "java.io.IOException: broken pipe",
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(line)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Parse(text)
			}
		})
	}
}

func BenchmarkMask(b *testing.B) {
	text := []byte(`Connection to 10.0.3.17:5432 timed out after 8123 ms for "orders" at /var/data/shop/1.json code=E42 node=n-3`)
	var out []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		out = Mask(out[:0], text)
	}
}

func BenchmarkFields(b *testing.B) {
	text := []byte("2026-01-05 00:00:00,061 INFO  [worker-10] com.shop.http.RequestLogger - Request path=/api/v1 status=200 took=43ms")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := ScanPairs(text)
		s.Next()
	}
}
