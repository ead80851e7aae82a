package artifacts

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logText is a log of about size bytes.
func logText(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "2024-05-01T08:00:%02d.%03dZ INFO request %d served in %d ms by worker %d\n", i/1000%60, i%1000, i, i%97, i%8)
	}
	return b.Bytes()[:size]
}

// question is what the results are needed for: its words are looked for in them.
const question = "What is the access code of the north gate, and who signed the release?"

// BenchmarkVirtualize stores a result and describes it. disk-ms is what the disk alone takes for the same bytes in the same folder
// (write, sync, rename, sync of the folder), beside-ms what is left of the whole, and compute-ms the part without any disk:
// hashing, counting, describing. The rest of beside-ms is the commit of the database.
func BenchmarkVirtualize(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			s := open(b, Options{MaxBytes: 1 << 40})
			disk := folder{dir: filepath.Join(s.Dir(), "content"), fs: osFiles{}}
			content := logText(size)
			var whole, alone, compute time.Duration
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				copy(content[size/2:], fmt.Sprintf("%08d", i)) // what is stored already would not be written
				src := Source{Tool: "read_file", Name: "big.log", Facts: []Fact{{"path", "big.log"}, {"total_bytes", fmt.Sprint(size)}}}
				start := time.Now()
				a, err := s.Put(b.Context(), "me", src, content)
				require.NoError(b, err)
				require.NotEmpty(b, Descriptor(a, content, DefaultLimits(), question))
				whole += time.Since(start)

				b.StopTimer()
				start = time.Now()
				temp, err := disk.write(content)
				require.NoError(b, err)
				require.NoError(b, disk.adopt(temp, contentSum{}))
				alone += time.Since(start)
				start = time.Now()
				a = newArtifact("me", src, content)
				a.Ref = scheme + "00000000"
				require.NotEmpty(b, Descriptor(a, content, DefaultLimits(), question))
				compute += time.Since(start)
				b.StartTimer()
			}
			perOp := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(b.N) }
			b.ReportMetric(perOp(alone), "disk-ms")
			b.ReportMetric(perOp(whole-alone), "beside-ms")
			b.ReportMetric(perOp(compute), "compute-ms")
		})
	}
}

// BenchmarkRead reads from a stored result of 10 MiB. Each checks all of it.
func BenchmarkRead(b *testing.B) {
	s := open(b, Options{})
	a, err := s.Put(b.Context(), "me", Source{Tool: "read_file"}, logText(10<<20))
	require.NoError(b, err)
	b.Run("page", func(b *testing.B) {
		b.SetBytes(a.Bytes)
		for b.Loop() {
			_, err := s.Retrieve(b.Context(), "me", a.Ref, Range{StartLine: a.Lines / 2})
			require.NoError(b, err)
		}
	})
	for name, q := range map[string]Query{"literal": {Text: "request 99999 "}, "regex": {Text: `served in 9\d ms`, Regex: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(a.Bytes)
			for b.Loop() {
				r, err := s.Search(b.Context(), "me", a.Ref, q)
				require.NoError(b, err)
				require.Positive(b, r.Lines)
			}
		})
	}
}

// BenchmarkPutAmongMany puts small results into a store that holds 10,000.
func BenchmarkPutAmongMany(b *testing.B) {
	s := open(b, Options{MaxBytes: 1 << 40})
	_, err := s.db.Write.ExecContext(b.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO contents SELECT CAST(printf('%032d', i) AS BLOB), 100, 1, 'utf-8' FROM n`)
	require.NoError(b, err)
	_, err = s.db.Write.ExecContext(b.Context(), `INSERT INTO artifacts (owner, id, source, sha256, tool, arguments, type, name, facts, created, used, turn)
		SELECT 'owner', hex(sha256), sha256, sha256, 't', x'', 'text/plain', '', '[]', 0, 0, row_number() OVER () FROM contents`)
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		_, err := s.Put(b.Context(), "owner", Source{Tool: "t"}, fmt.Appendf(nil, "content %d", i))
		require.NoError(b, err)
	}
}
