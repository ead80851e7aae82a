package benchmark

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShippedSuites(t *testing.T) {
	t.Parallel()
	names := ShippedSuites()
	require.IsIncreasing(t, names)
	require.Contains(t, names, "shop")
	for _, name := range names {
		shipped, err := FindSuite(name)
		require.NoError(t, err)
		require.Empty(t, shipped.Folder)
		file, err := FindSuite("workloads/" + name + ".json")
		require.NoError(t, err)
		require.Equal(t, "workloads", file.Folder)
		require.Equal(t, shipped.SHA256(), file.SHA256())
		require.Equal(t, shipped.Suite, file.Suite)
		require.Equal(t, name+".json", file.File)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	_, err := FindSuite("shpo")
	var unknown *UnknownError
	require.ErrorAs(t, err, &unknown)
	require.Regexp(t, `^there is no suite "shpo"; did you mean shop\?; there are: .*shop; another one is named by the path of its file, such as ./shpo.json$`, err.Error())
	_, err = FindSuite("none.json")
	require.ErrorIs(t, err, os.ErrNotExist)

	f := &SuiteFile{Suite: &Suite{Name: "made", Cases: []Case{{ID: "greet"}, {ID: "part"}, {ID: "stay"}}}}
	cases, err := f.ChooseCases("part,greet")
	require.NoError(t, err)
	require.Equal(t, f.Cases[:2], cases)
	_, err = f.ChooseCases("greet", "prat")
	require.EqualError(t, err, `there is no case "prat"; did you mean part?; there are: greet, part, stay`)
	_, err = f.ChooseCases("greet", "")
	require.ErrorAs(t, err, &unknown)
}

func TestFindRepository(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inside := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(inside, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "shop", "small"), 0o755))
	plain, needy := Case{ID: "plain"}, Case{ID: "needy", Metadata: Metadata{FixtureDir: "shop/small"}}
	for _, folders := range [][]string{{root}, {inside}, {t.TempDir(), inside}} {
		found, err := FindRepository([]Case{plain, needy}, folders...)
		require.NoError(t, err)
		require.Equal(t, root, found)
	}
	found, err := FindRepository([]Case{plain}, t.TempDir())
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = FindRepository([]Case{plain, needy}, t.TempDir())
	require.ErrorContains(t, err, `case "needy" works on the folder shop/small of the repository of llama-agent, which is not here; run the benchmark inside the repository`)
	_, err = FindRepository([]Case{needy, {ID: "other", Metadata: Metadata{FixtureDir: "none"}}}, root)
	require.Error(t, err, "all of them must be there")
}
