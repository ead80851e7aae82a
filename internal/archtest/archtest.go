// Package archtest holds the rules that keep the tree in shape, and checks them in its test: which package may import which
// (each rule with its reason), one package with cgo, no init functions, no file that grew without end, and no trace of the
// machine that somebody worked on.
//
// The checks read source files and never build anything, so they see all platforms and build tags at once.
package archtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxLines is where a Go file certainly holds a second noun. It is a bound, not an aim: look for that noun at 600 already.
const maxLines = 700

// maxTextBytes bounds the files that are searched for machine paths; larger ones are data.
const maxTextBytes = 1 << 20

// rule says what one package may import of the module's own packages. Paths are relative to the module.
// A package PATH/internal/… belongs to PATH, and shares its rule.
type rule struct {
	pkg    string
	may    []string
	reason string
}

// goFile is what the checks need to know of one Go file.
type goFile struct {
	name      string // slash-separated, relative to the root of the module
	test      bool
	generated bool
	lines     int
	imports   []position
	inits     []int // lines of init functions
}

// position is something found at a line.
type position struct {
	text string
	line int
}

// tree is the source of a module.
type tree struct {
	module string
	goes   []goFile
	traces []string // machine paths and registry hosts, as file:line: text
}

// traces of a machine: absolute paths below the folders where build machines work, and hosts of package registries, since
// which registry is used is a setting of the machine. The names are put together here, so that this file does not
// hold them.
var traces = regexp.MustCompile(`(?:^|[^\w.~\-/])(/(?:work|root)/[\w.\-]+)|\b(` + strings.Join([]string{
	`pypi\.` + `org`, `pythonhosted\.` + `org`, `npmjs\.` + `org`, `proxy\.golang\.` + `org`, `goproxy\.` + `(?:cn|io)`, `npmmirror\.` + `com`,
}, "|") + `)\b`)

// load reads the named files of a module.
func load(fsys fs.FS, names []string) (*tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	_, module, _ := strings.Cut(string(mod), "module ")
	module, _, _ = strings.Cut(module, "\n")
	t := &tree{module: strings.TrimSpace(module)}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed and not yet committed
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		t.search(name, data)
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		f, err := parseGo(name, data)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", name, err)
		}
		t.goes = append(t.goes, f)
	}
	return t, nil
}

// search notes the traces of a machine in a text file.
func (t *tree) search(name string, data []byte) {
	if len(data) > maxTextBytes || bytes.IndexByte(data, 0) >= 0 {
		return
	}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, maxTextBytes+1)
	for line := 1; scanner.Scan(); line++ {
		if m := traces.FindStringSubmatch(scanner.Text()); m != nil {
			t.traces = append(t.traces, fmt.Sprintf("%s:%d: %s", name, line, m[1]+m[2]))
		}
	}
}

func parseGo(name string, data []byte) (goFile, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return goFile{}, err
	}
	f := goFile{
		name:      name,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(parsed),
		lines:     bytes.Count(data, []byte("\n")),
	}
	for _, spec := range parsed.Imports {
		f.imports = append(f.imports, position{strings.Trim(spec.Path.Value, "`\""), fset.Position(spec.Pos()).Line})
	}
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			f.inits = append(f.inits, fset.Position(fn.Pos()).Line)
		}
	}
	return f, nil
}

// pkg is the package of a file, relative to the module.
func (f goFile) pkg() string {
	return path.Dir(f.name)
}

// owner returns the package whose rule holds for pkg.
func owner(pkg string) string {
	if outer, _, ok := strings.Cut(pkg, "/internal/"); ok {
		return outer
	}
	return pkg
}

// imports checks the imports of everything but tests, which may use whatever compiles.
func (t *tree) imports(rules []rule) []string {
	byPackage := make(map[string]rule, len(rules))
	for _, r := range rules {
		byPackage[r.pkg] = r
	}
	var problems []string
	unlisted := map[string]bool{}
	for _, f := range t.goes {
		from := owner(f.pkg())
		r, listed := byPackage[from]
		if !listed && !unlisted[from] {
			unlisted[from] = true
			problems = append(problems, fmt.Sprintf("%s: the package is in no rule; add one to internal/archtest/rules.go, with its reason", f.pkg()))
		}
		if !listed || f.test {
			continue
		}
		for _, imp := range f.imports {
			rest, ours := strings.CutPrefix(imp.text, t.module+"/")
			if to := owner(rest); ours && to != from && !slices.Contains(r.may, to) {
				problems = append(problems, fmt.Sprintf("%s:%d: %s must not import %s: %s", f.name, imp.line, from, rest, r.reason))
			}
		}
	}
	return problems
}

// cgo checks that only the package allowed imports "C".
func (t *tree) cgo(allowed string) []string {
	var problems []string
	for _, f := range t.goes {
		for _, imp := range f.imports {
			if imp.text == "C" && f.pkg() != allowed {
				problems = append(problems, fmt.Sprintf("%s:%d: only %s may import \"C\": everything else builds and is tested without a C compiler", f.name, imp.line, allowed))
			}
		}
	}
	return problems
}

// inits checks that no package does anything when it is imported.
func (t *tree) inits() []string {
	var problems []string
	for _, f := range t.goes {
		for _, line := range f.inits {
			if !f.generated {
				problems = append(problems, fmt.Sprintf("%s:%d: an init function hides what a program does; wire it in app", f.name, line))
			}
		}
	}
	return problems
}

func (t *tree) lengths() []string {
	var problems []string
	for _, f := range t.goes {
		if f.lines > maxLines && !f.generated {
			problems = append(problems, fmt.Sprintf("%s: %d lines, more than %d; look for the second noun and give it a file", f.name, f.lines, maxLines))
		}
	}
	return problems
}

// machine checks that no file names a path or a registry of somebody's machine.
func (t *tree) machine() []string {
	var problems []string
	for _, trace := range t.traces {
		problems = append(problems, trace+": belongs to one machine; use a relative path, a placeholder, or the name of the package")
	}
	return problems
}
