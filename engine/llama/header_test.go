package llama

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	include = "../../build/llama/cpu/include/"
	golden  = "testdata/bound.golden"
)

var (
	comment    = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)
	wrapper    = regexp.MustCompile(`DEPRECATED\(|LLAMA_API|^[^\n]*#[^\n]*$`)
	blanks     = regexp.MustCompile(`\s+`)
	llamaCall  = regexp.MustCompile(`\b(llama_\w+)\(`)
	llamaName  = regexp.MustCompile(`\b(llama_\w+) ?\(`)
	structBody = regexp.MustCompile(`(?s)(?:typedef )?struct (\w+) \{(.*?)\n\s*\}`)
	structUse  = regexp.MustCompile(`\bllama_\w+_params\b|\bllama_batch\b`)
)

// boundDeclarations lists the declarations of the functions and parameter structs of llama.cpp's headers that the shim uses. A
// struct matters too: the shim sets its fields by name, but a new field's default may change what a call does.
func boundDeclarations(shim, header string) ([]string, error) {
	header = comment.ReplaceAllString(header, "")
	var lines []string
	for line := range strings.Lines(header) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	header = strings.Join(lines, "")
	declared := map[string]string{}
	for decl := range strings.SplitSeq(header, ";") {
		// Only the text after the last brace: a declaration may follow a block.
		decl = decl[strings.LastIndexAny(decl, "{}")+1:]
		decl = strings.TrimSpace(blanks.ReplaceAllString(wrapper.ReplaceAllString(decl, ""), " "))
		if m := llamaName.FindStringSubmatch(decl); m != nil && !strings.HasPrefix(decl, "typedef") {
			declared[m[1]] = decl
		}
	}
	seen := map[string]bool{}
	var out []string
	for _, m := range llamaCall.FindAllStringSubmatch(comment.ReplaceAllString(shim, ""), -1) {
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		decl, ok := declared[m[1]]
		if !ok {
			return nil, fmt.Errorf("%s is not declared in the headers", m[1])
		}
		out = append(out, decl)
	}
	used := strings.Join(out, "\n")
	for _, m := range structBody.FindAllStringSubmatch(header, -1) {
		if slices.Contains(structUse.FindAllString(used, -1), m[1]) {
			out = append(out, "struct "+m[1]+" {"+blanks.ReplaceAllString(m[2], " ")+" }")
		}
	}
	slices.Sort(out)
	return out, nil
}

// An update of llama.cpp that changes something the shim uses must be looked at before the golden file is written anew
// (go test -run TestBoundDeclarations -update).
func TestBoundDeclarations(t *testing.T) {
	t.Parallel()
	var headers strings.Builder
	for _, name := range []string{"llama.h", "build-info.h"} {
		h, err := os.ReadFile(include + name)
		if err != nil {
			t.Skipf("llama.cpp is not built: %v", err)
		}
		headers.Write(h)
	}
	files, err := filepath.Glob("shim*.cpp")
	require.NoError(t, err)
	var shim strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		shim.Write(text)
	}
	decls, err := boundDeclarations(shim.String(), headers.String())
	require.NoError(t, err)
	require.Greater(t, len(decls), 50)
	got := strings.Join(decls, "\n") + "\n"
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestBoundDeclarationsNoticesChanges(t *testing.T) {
	t.Parallel()
	const h = `
    // llama_free(in a comment);
    struct llama_x_params { int a; // one
      bool b;
    };
    LLAMA_API struct llama_x_params
        llama_x_default_params(void);
    LLAMA_API void llama_free( struct llama_context * ctx );
    DEPRECATED(LLAMA_API int llama_old(int), "no");
`
	got, err := boundDeclarations("llama_free(c); p = llama_x_default_params(); // llama_gone(", h)
	require.NoError(t, err)
	require.Equal(t, []string{
		"struct llama_x_params llama_x_default_params(void)", "struct llama_x_params { int a; bool b; }", "void llama_free( struct llama_context * ctx )",
	}, got)
	_, err = boundDeclarations("llama_gone(1)", h)
	require.ErrorContains(t, err, "llama_gone")
}
