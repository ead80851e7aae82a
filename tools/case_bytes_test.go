package tools

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where lines and characters may be cut: around the sizes of the buffers that text goes through.
func TestCaseLongLines(t *testing.T) {
	t.Parallel()
	for name, filler := range map[string]string{
		"bytes": "x", "two-byte characters": "é", "four-byte characters": "🦙", "bytes that are no text": "x\xe9", "carriage returns": "x\r", "NULs": "xxxxxxxxx\x00", "blanks": " ", "base64": "QUJD", "escapes": "\x1b[1mbold text",
	} {
		for _, size := range []int{4095, 4096, 4097, 65_535, 65_536, 65_537, 70_000, 200_000, maxLinePart - 1, maxLinePart, maxLinePart + 1, 2*maxLinePart + 1} {
			for end, lineEnd := range map[string]string{"LF": "\n", "CR LF": "\r\n"} {
				t.Run("BC-26 "+name+" "+byteSize(int64(size))+" "+end, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					long := strings.Repeat(filler, size/len(filler)+1)
					writeFiles(t, dir, map[string]string{"app.log": long + lineEnd + "ERROR after" + lineEnd + "2026-01-05 10:00:00 ERROR last"})
					r := builtins(t, dir)
					found := mustCall(t, r, "search_file", map[string]any{"file_path": "app.log", "query": "ERROR after"}).Data.(SearchResult)
					require.Equal(t, []int{1, 3}, []int{found.Total, found.LinesSearched})
					require.Equal(t, 2, found.Matches[0].Line)
					require.Equal(t, "ERROR after", found.Matches[0].Text)
					require.EqualValues(t, len(long)+len(lineEnd), found.Matches[0].Offset)
					inLog := mustCall(t, r, "search_log", map[string]any{"log_path": "app.log", "query": "ERROR after"}).Data.(LogSearchResult)
					require.Equal(t, []int{1, 2, 3}, []int{inLog.Total, inLog.Matches[0].Line, inLog.LinesSearched})
					window := mustCall(t, r, "get_log_window", map[string]any{"log_path": "app.log", "line_number": 3}).Data.(LogWindow)
					require.Equal(t, "ERROR after", window.Lines[1].Text)
					require.Equal(t, 3, mustCall(t, r, "count_lines", map[string]any{"path": "app.log"}).Data.(LineCounts).Total)
					read := mustCall(t, r, "read_file", map[string]any{"file_path": "app.log", "start_line": 2, "max_lines": 1}).Data.(FileContent)
					require.Equal(t, "ERROR after\n", read.Content)
					require.Equal(t, found.Matches[0].Offset, read.Offset)
				})
			}
		}
	}
}

func TestCaseCompressedFiles(t *testing.T) {
	t.Parallel()
	random := make([]byte, 300_000) // does not compress, so that damage can be put anywhere
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		if random[i] = byte('a' + rng.IntN(26)); i%100 == 99 {
			random[i] = '\n'
		}
	}
	whole := gzipped(t, "ERROR first\n"+string(random)+"ERROR last\n")
	broken := []byte(whole)
	broken[len(broken)/2] ^= 0xff
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"app.log": "ERROR now\n", "app.log.1.gz": whole, "app.log.2.gz": whole[:len(whole)*2/3], "app.log.3.gz": whole[:len(whole)-8] + "\x00\x00\x00\x00" + whole[len(whole)-4:], "app.log.4.gz": whole[:5], "app.log.5.gz": "",
		"app.log.6.gz": "ERROR no gzip at all\n", "app.log.7.gz": gzipped(t, "ERROR one\n") + gzipped(t, "ERROR two\n"), "app.log.8.gz": gzipped(t, gzipped(t, "ERROR twice\n")), "app.log.9.gz": gzipped(t, png), "app.log.a.gz": string(broken),
		"app.log.b.gz": gzipped(t, "ERROR one\n") + "what is behind it", "app.log.c.gz": gzipped(t, utf16Text(binary.BigEndian, "ERROR wide\n")), "app.log.d.gz": gzipped(t, ""),
	})
	r := builtins(t, dir)
	result := mustCall(t, r, "search_file", map[string]any{"file_path": "app.log*", "query": "ERROR", "max_matches": 50})
	data := result.Data.(SearchResult)
	counts := map[string]int{}
	for _, f := range data.Files {
		counts[f.Path] = f.Total
	}
	skipped := strings.Join(data.Skipped, "\n")
	for file, want := range map[string]struct {
		errors int
		says   string // why not all of it was searched
	}{
		"app.log": {1, ""}, "app.log.1.gz": {2, ""}, "app.log.5.gz": {0, ""}, "app.log.6.gz": {1, ""}, "app.log.7.gz": {2, ""}, "app.log.c.gz": {1, ""}, "app.log.d.gz": {0, ""},
		"app.log.2.gz": {1, `the rest of app.log.2.gz after line `}, "app.log.3.gz": {2, `the rest of app.log.3.gz after line 3002: decompressing "app.log.3.gz": gzip: invalid checksum`}, "app.log.a.gz": {1, `the rest of app.log.a.gz after line `},
		"app.log.4.gz": {0, `app.log.4.gz: decompressing "app.log.4.gz": it ends in the middle`}, "app.log.8.gz": {0, "gzip with application/gzip inside"}, "app.log.9.gz": {0, "gzip with image/png inside"},
		"app.log.b.gz": {0, `app.log.b.gz: decompressing "app.log.b.gz": `},
	} {
		t.Run("BC-26 "+file, func(t *testing.T) {
			if want.says != "" && strings.HasPrefix(want.says, "the rest") {
				require.GreaterOrEqual(t, counts[file], want.errors)
			} else {
				require.Equal(t, want.errors, counts[file])
			}
			require.Contains(t, skipped, want.says)
			require.Equal(t, want.says != "", strings.Contains(skipped, `"`+file+`"`), skipped)
			_, err := call(t, r, "search_log", map[string]any{"log_path": file, "query": "ERROR"})
			require.Equal(t, want.says != "", err != nil, "%v", err)
			_, err = call(t, r, "read_file", map[string]any{"file_path": file, "max_lines": 1})
			require.Equal(t, want.says != "", err != nil, "%v", err)
			if err != nil {
				require.NotContains(t, err.Error(), "EOF", "no user knows what that is")
			}
		})
	}
	require.Contains(t, result.Text, "\nskipped ")
	require.Equal(t, 12, mustCall(t, r, "list_files", map[string]any{"pattern": "*.gz"}).Data.(FileList).Total-1)
}

func TestCaseEncodings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "line one\nERROR grüße 漢字 🦙\nline three\n"
	wide := func(order binary.AppendByteOrder) string { return utf16Text(order, text) }
	utf32 := []byte{0xff, 0xfe, 0, 0}
	for _, c := range text {
		utf32 = binary.LittleEndian.AppendUint32(utf32, uint32(c))
	}
	for name, tc := range map[string]struct {
		content string
		says    string // of the refusal; empty: it is read
		match   string
	}{
		"UTF-8":                  {text, "", "ERROR grüße 漢字 🦙"},
		"UTF-8 with a mark":      {"\ufeff" + text, "", "ERROR grüße 漢字 🦙"},
		"UTF-16LE":               {wide(binary.LittleEndian), "", "ERROR grüße 漢字 🦙"},
		"UTF-16BE":               {wide(binary.BigEndian), "", "ERROR grüße 漢字 🦙"},
		"UTF-16LE, odd":          {wide(binary.LittleEndian) + "x", "", "ERROR grüße 漢字 🦙"},
		"UTF-16LE, half a pair":  {wide(binary.LittleEndian) + "\x3e\xd8", "", "ERROR grüße 漢字 🦙"},
		"UTF-16LE without":       {wide(binary.LittleEndian)[2:], "is not text", ""},
		"UTF-16BE without":       {wide(binary.BigEndian)[2:], "is not text", ""},
		"UTF-32LE":               {string(utf32), "its type is text/plain; charset=utf-32", ""},
		"UTF-32BE":               {"\x00\x00\xfe\xff\x00\x00\x00a", "its type is text/plain; charset=utf-32", ""},
		"Latin-1":                {"line\nERROR gr\xfc\xdfe\n", "", `ERROR gr\xFC\xDFe`},
		"a cut character":        {"line\nERROR \xe6\xbc", "", `ERROR \xE6\xBC`},
		"an overlong slash":      {"line\nERROR \xc0\xaf\n", "", `ERROR \xC0\xAF`},
		"a surrogate":            {"line\nERROR \xed\xa0\x80\n", "", `ERROR \xED\xA0\x80`},
		"a NUL":                  {"line\nERROR a\x00b\n", "", "ERROR a\x00b"},
		"CR alone":               {"line\rERROR one\rtwo\r", "", "line\rERROR one\rtwo\r"},
		"CR LF":                  {"line\r\nERROR one\r\n", "", "ERROR one"},
		"CR CR LF":               {"line\r\r\nERROR one\r\r\n", "", "ERROR one\r"},
		"line separator":         {"line\u2028ERROR one\n", "", "line\u2028ERROR one"},
		"a direction mark":       {"line\nERROR \u202egnp.exe\n", "", "ERROR \u202egnp.exe"},
		"only NULs":              {strings.Repeat("\x00", 5000), "is not text", ""},
		"a PNG":                  {png, "its type is image/png", ""},
		"a PNG named as a log":   {png + strings.Repeat("ERROR\n", 100), "its type is image/png", ""},
		"an ELF program":         {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00", "is not text", ""},
		"a ZIP":                  {"PK\x03\x04\x14\x00\x00\x00\x08\x00", "its type is application/zip", ""},
		"a PDF":                  {"%PDF-1.4\nERROR\n", "application/pdf", ""},
		"text, then binary":      {strings.Repeat("ERROR text\n", 1000) + string(png), "", "ERROR text"},
		"nothing but a mark":     {"\ufeff", "", ""},
		"nothing but a wide one": {"\xff\xfe", "", ""},
	} {
		t.Run("BC-26 "+name, func(t *testing.T) {
			file := strings.ReplaceAll(name, " ", "_") + ".log"
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(tc.content), 0o600))
			r := builtins(t, dir)
			for tool, args := range map[string]map[string]any{
				"read_file": {"file_path": file}, "search_file": {"file_path": file, "query": "ERROR"}, "search_log": {"log_path": file, "query": "ERROR"}, "count_lines": {"path": file}, "get_log_window": {"log_path": file, "line_number": 1},
			} {
				result, err := call(t, r, tool, args)
				if tc.says != "" {
					require.ErrorContains(t, err, tc.says, tool)
					require.ErrorContains(t, err, file, tool)
					continue
				}
				require.NoError(t, err, tool)
				if tool != "read_file" || len(tc.content) < 1000 {
					requireInert(t, result.Text)
				}
				if data, ok := result.Data.(SearchResult); ok && tc.match != "" {
					require.Equal(t, tc.match, data.Matches[0].Text)
				}
			}
			mustCall(t, r, "get_file_metadata", map[string]any{"file_path": file})
		})
	}
}

func TestCaseQueriesOfSeveralLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.log": "ERROR a\nERROR b\n"})
	r := builtins(t, dir)
	for _, tool := range []string{"search_file", "search_log"} {
		t.Run("BC-26 "+tool, func(t *testing.T) {
			args := map[string]any{"file_path": "a.log", "log_path": "a.log", "query": "ERROR a\nERROR b"}
			delete(args, map[string]string{"search_file": "log_path", "search_log": "file_path"}[tool])
			require.ErrorContains(t, callError(t, r, tool, args, KindInvalidArguments), "query has a line break, but lines are searched one by one; give a part of one line")
		})
	}
}
