package benchmark

import (
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/config"
)

//go:embed workloads/*.json
var workloads embed.FS

// SuiteFile is a suite and the file that it comes from.
type SuiteFile struct {
	*Suite
	File   string // its base name
	Data   []byte // its bytes
	Folder string // where it lies; empty for one that is part of the program
}

// SHA256 is the hash of the file.
func (f *SuiteFile) SHA256() string { return hashOf(f.Data) }

// ShippedSuites are the names of the suites that are part of the program, sorted.
func ShippedSuites() []string {
	files, err := workloads.ReadDir("workloads")
	if err != nil {
		panic(err) // it is part of the program
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".json")
	}
	return names
}

// UnknownError says that there is no suite or case with a name.
type UnknownError struct {
	What  string // suite or case
	Name  string
	Known []string
	Hint  string // what else can be done
}

// Error names the nearest name and all there are.
func (e *UnknownError) Error() string {
	near := ""
	if name := config.Nearest(e.Name, e.Known); name != "" {
		near = "; did you mean " + name + "?"
	}
	return fmt.Sprintf("there is no %s %q%s; there are: %s%s", e.What, e.Name, near, strings.Join(e.Known, ", "), e.Hint)
}

// FindSuite reads a suite that is part of the program, by its name, or any other by the path of its file: a text with a
// separator or the ending .json is a path.
func FindSuite(nameOrPath string) (*SuiteFile, error) {
	if strings.ContainsAny(nameOrPath, `/\`) || strings.HasSuffix(nameOrPath, ".json") {
		return suiteFile(nameOrPath)
	}
	shipped := ShippedSuites()
	if !slices.Contains(shipped, nameOrPath) {
		return nil, &UnknownError{
			What: "suite", Name: nameOrPath, Known: shipped, Hint: fmt.Sprintf("; another one is named by the path of its file, such as ./%s.json", nameOrPath),
		}
	}
	data, err := workloads.ReadFile(path.Join("workloads", nameOrPath+".json"))
	if err != nil {
		return nil, fmt.Errorf("reading suite %s: %w", nameOrPath, err)
	}
	return parseSuite(nameOrPath+".json", "", data)
}

func suiteFile(name string) (*SuiteFile, error) {
	if _, err := Load(name); err != nil { // also checks its size
		return nil, err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading suite: %w", err)
	}
	return parseSuite(filepath.Base(name), filepath.Dir(name), data)
}

func parseSuite(file, folder string, data []byte) (*SuiteFile, error) {
	s, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading suite %s: %w", file, err)
	}
	return &SuiteFile{Suite: s, File: file, Data: data, Folder: folder}, nil
}

// ChooseCases returns the cases with the IDs, each of which may be several with commas between, in the order of the suite; all
// without any ID. An ID that the suite does not have is an error that names the nearest one and all there are.
func (f *SuiteFile) ChooseCases(ids ...string) ([]Case, error) {
	all := make([]string, len(f.Cases))
	for i, c := range f.Cases {
		all[i] = c.ID
	}
	if len(ids) == 0 {
		return f.Cases, nil
	}
	for id := range strings.SplitSeq(strings.Join(ids, ","), ",") {
		if slices.Contains(all, id) {
			continue
		}
		return nil, &UnknownError{What: "case", Name: id, Known: all}
	}
	return f.Choose(ids...)
}

// FindRepository returns the folder that the fixture_dir of cases is relative to: the first of the folders, or of the folders
// above them, where all are. It is empty when no case has one.
func FindRepository(cases []Case, folders ...string) (string, error) {
	var needed []Case
	for _, c := range cases {
		if c.Metadata.FixtureDir != "" {
			needed = append(needed, c)
		}
	}
	if len(needed) == 0 {
		return "", nil
	}
	for _, folder := range folders {
		for at, err := filepath.Abs(folder); err == nil; at = filepath.Dir(at) {
			if !slices.ContainsFunc(needed, func(c Case) bool { return !isFolder(filepath.Join(at, filepath.FromSlash(c.Metadata.FixtureDir))) }) {
				return at, nil
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return "", fmt.Errorf("case %q works on the folder %s of the repository of llama-agent, which is not here; run the benchmark inside the repository, or choose other cases with --case",
		needed[0].ID, needed[0].Metadata.FixtureDir)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
