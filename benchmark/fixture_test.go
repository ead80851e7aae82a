package benchmark

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lineOf is the line of text that holds marker, and where it begins as a share of the text.
func lineOf(t require.TestingT, text, marker string) (line string, depth float64) {
	require.Equal(t, 1, strings.Count(text, marker))
	at := strings.Index(text, marker)
	from := strings.LastIndexByte(text[:at], '\n') + 1
	to := at + strings.IndexByte(text[at:], '\n')
	return text[from:to], float64(from) / float64(len(text))
}

// TestJournals sees every size exact, and the marker once, where it should be.
func TestJournals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		marker := rapid.SampledFrom([]string{"X-1", "The seal is QX-7719.", "新封条编号FX-40927"}).Draw(t, "marker")
		size := rapid.OneOf(rapid.IntRange(minFixtureBytes, 6000), rapid.IntRange(6000, 100_000)).Draw(t, "size")
		position := rapid.SampledFrom([]Position{End, Middle}).Draw(t, "position")
		c := Case{ID: "a", Metadata: Metadata{FixtureSizeBytes: size, FixtureMarker: marker, FixtureMarkerPosition: position}}
		files, err := c.Fixtures(rapid.Int().Draw(t, "seed"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		text := files[0].Text
		require.Len(t, text, size)
		require.True(t, utf8.ValidString(text))
		line, depth := lineOf(t, text, marker)
		require.Regexp(t, `^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d `, line)
		require.True(t, strings.HasSuffix(line, " "+marker))
		if position == End {
			require.True(t, strings.HasSuffix(text, marker+"\n"))
		} else {
			require.InDelta(t, 0.5, depth, 0.05+150/float64(size))
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		slices.Sort(lines)
		require.Equal(t, len(lines), len(slices.Compact(lines)), "no line comes twice")
	})
}

// TestSiteNotes sees the same for files of prose, and markers at depths that differ.
func TestSiteNotes(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"The lot is ", "批号是"} {
		c := Case{ID: "a", Metadata: Metadata{MediumFileCount: 12, MediumFileSizeBytes: 6000}}
		for i := range 12 {
			c.Metadata.MediumFileMarkers = append(c.Metadata.MediumFileMarkers, language+string(rune('A'+i))+"Q-1")
		}
		files, err := c.Fixtures(42)
		require.NoError(t, err)
		require.Len(t, files, 12)
		var depths []float64
		for i, f := range files {
			require.Len(t, f.Text, 6000)
			require.True(t, utf8.ValidString(f.Text))
			require.Equal(t, c.Metadata.mediumPaths()[i], f.Path)
			line, depth := lineOf(t, f.Text, c.Metadata.MediumFileMarkers[i])
			require.Equal(t, c.Metadata.MediumFileMarkers[i], line)
			depths = append(depths, depth)
			for j, other := range c.Metadata.MediumFileMarkers {
				require.Equal(t, i == j, strings.Contains(f.Text, other))
			}
		}
		require.False(t, slices.IsSorted(depths), "depths follow no order")
		require.Less(t, slices.Min(depths), 0.3)
		require.Greater(t, slices.Max(depths), 0.7)
		require.NotEqual(t, files[0].Text[:100], files[1].Text[:100])
	}
}

// TestFixturesStayTheSame pins bytes: results of different days are compared only when the files are the same.
func TestFixturesStayTheSame(t *testing.T) {
	t.Parallel()
	c := Case{ID: "a", Metadata: Metadata{
		FixtureSizeBytes: 20_000, FixtureMarker: "Mark QX-1", FixtureMarkerPosition: Middle,
		MediumFileCount: 1, MediumFileSizeBytes: 6000, MediumFileMarkers: []string{"批号QX-2"},
	}}
	sum := sha256.New()
	files, err := c.Fixtures(42)
	require.NoError(t, err)
	for _, f := range files {
		sum.Write([]byte(f.Path + f.Text))
	}
	require.Equal(t, "06a98647ad765ee3318f525dabae7473474aa458d934cb5654941a381496df6f", hex.EncodeToString(sum.Sum(nil)))
	again, err := c.Fixtures(42)
	require.NoError(t, err)
	require.Equal(t, files, again)
	other, err := c.Fixtures(43)
	require.NoError(t, err)
	require.NotEqual(t, files, other)
}

func TestAMarkerThatIsInTheTextIsRefused(t *testing.T) {
	t.Parallel()
	c := Case{ID: "a", Metadata: Metadata{FixtureSizeBytes: 20_000, FixtureMarker: "pump", FixtureMarkerPosition: End}}
	_, err := c.Fixtures(42)
	require.ErrorContains(t, err, `has the marker "pump"`)
	c = Case{ID: "a", Metadata: Metadata{MediumFileCount: 1, MediumFileSizeBytes: 6000, MediumFileMarkers: []string{"fence"}}}
	_, err = c.Fixtures(42)
	require.ErrorContains(t, err, `has the marker "fence"`)
}

func TestWriteFixtures(t *testing.T) {
	t.Parallel()
	repository, workspace := t.TempDir(), filepath.Join(t.TempDir(), "w")
	require.NoError(t, os.MkdirAll(filepath.Join(repository, "shop", "logs"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(repository, "shop", "logs", "a.log"), []byte("from the folder"), 0o600))
	c := Case{ID: "a", Metadata: Metadata{FixtureDir: "shop", FixtureFiles: map[string]string{"deep/er/b.txt": "text\x00é", "c": ""}}}
	require.NoError(t, c.writeFixtures(workspace, repository, 42))
	for name, want := range map[string]string{"logs/a.log": "from the folder", "deep/er/b.txt": "text\x00é", "c": ""} {
		data, err := os.ReadFile(filepath.Join(workspace, name))
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	c.Metadata.FixtureFiles["logs/a.log"] = "again"
	err := c.writeFixtures(filepath.Join(t.TempDir(), "w"), repository, 42)
	require.ErrorIs(t, err, os.ErrExist)
	require.ErrorContains(t, err, `fixture logs/a.log of case "a"`)

	delete(c.Metadata.FixtureFiles, "logs/a.log")
	require.NoError(t, os.Symlink("/etc", filepath.Join(repository, "shop", "link")))
	require.ErrorContains(t, c.writeFixtures(filepath.Join(t.TempDir(), "w"), repository, 42), "neither a file nor a folder")
}
