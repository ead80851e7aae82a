package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// TestMain makes the program a command of the scripts. In it, and nowhere else, the model may be a script: see
// scriptedModel.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"llama-agent": func() { os.Exit(execute(testProgram())) },
	})
}

func testProgram() *program {
	p := &program{
		args: os.Args[1:], environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now,
	}
	if path := os.Getenv("MODEL_SCRIPT"); path != "" {
		p.openModel = openScripted(path)
	}
	return p
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.Getenv("WORK")+"/home")
			env.Setenv("XDG_CONFIG_HOME", "")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "llama" {
				return app.EngineBuild().Backend != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": cmdCode, "waitfile": cmdWaitFile, "lock": cmdLock, "json": cmdJSON, "printf": cmdPrintf, "inert": cmdInert, "field": cmdField,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// cmdCode runs a command and checks its exit code: code 4 llama-agent run x.
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdWaitFile waits until a file exists.
func cmdWaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfile file")
	}
	waitFor(args[0], func(path string) bool { _, err := os.Stat(ts.MkAbs(path)); return err == nil }, ts.Fatalf)
}

func waitFor(what string, ready func(string) bool, fatalf func(string, ...any)) {
	deadline := time.Now().Add(30 * time.Second)
	for !ready(what) {
		if time.Now().After(deadline) {
			fatalf("%s did not come about", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// cmdLock takes the write lock of a database for the rest of the script, as another process would: lock DATABASE.
func cmdLock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lock database")
	}
	db, err := sqlitedb.Open(context.Background(), ts.MkAbs(args[0]), sqlitedb.Options{})
	ts.Check(err)
	tx, err := db.Write.BeginTx(context.Background(), nil)
	ts.Check(err)
	ts.Defer(func() {
		_ = tx.Rollback()
		_ = db.Close()
	})
}

// cmdJSON checks that the last stdout is one JSON object in one line and nothing else, and that the named fields have
// these values: json status=done calls.0.tool=read_file.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! json")
	}
	text := ts.ReadFile("stdout")
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(text), &object))
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("stdout is not one line: %q", text)
	}
	for _, arg := range args {
		path, want, _ := strings.Cut(arg, "=")
		if got := field(object, strings.Split(path, ".")); got != want {
			ts.Fatalf("%s is %s, want %s", path, got, want)
		}
	}
}

// cmdField puts a field of the last stdout, which is a JSON object, into a variable: field ID steps.0.checkpoint_id.
func cmdField(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field variable path")
	}
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
	ts.Setenv(args[0], field(object, strings.Split(args[1], ".")))
}

// field follows a path of names and indexes and shows what is there.
func field(v any, path []string) string {
	for _, name := range path {
		switch t := v.(type) {
		case map[string]any:
			v = t[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(t) {
				return "nothing"
			}
			v = t[i]
		default:
			return "nothing"
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// cmdPrintf writes a file with the escapes of a Go string: printf FILE 'a\x1bb'.
func cmdPrintf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: printf file text")
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[1], `"`, `\"`) + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdInert checks that neither the last stdout nor the last stderr has a byte that a terminal obeys.
func cmdInert(ts *testscript.TestScript, neg bool, _ []string) {
	if neg {
		ts.Fatalf("unsupported: ! inert")
	}
	for _, name := range []string{"stdout", "stderr"} {
		if text := ts.ReadFile(name); app.Inert(text) != text {
			ts.Fatalf("%s has control characters: %q", name, text)
		}
	}
}
