package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llama-agent/llama-agent/tools"
)

// A tool is a function over a struct; its schema is derived from the struct.
func ExampleFunc() {
	type weatherArgs struct {
		City string `json:"city" jsonschema:"name of the city" arg:"minlen=1,maxlen=100"`
		Unit string `json:"unit,omitempty" jsonschema:"unit of the temperature" arg:"enum=celsius|fahrenheit,default=celsius"`
	}
	weather, err := tools.Func(tools.Spec{
		Name:        "weather",
		Description: "Tells the weather of a city.",
		ReadOnly:    true,
	}, func(_ context.Context, args weatherArgs) (tools.Result, error) {
		return tools.Result{Text: "21 degrees " + args.Unit + " in " + args.City}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry, err := tools.NewRegistry(weather)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := registry.Call(context.Background(), "weather", json.RawMessage(`{"city":"Bergen"}`))
	fmt.Println(result.Text, err)

	_, err = registry.Call(context.Background(), "weather", json.RawMessage(`{"town":"Bergen"}`))
	fmt.Println(err)
	// Output:
	// 21 degrees celsius in Bergen <nil>
	// weather: there is no argument "town"; argument "city" is missing; the arguments are city (string, required), unit (one of "celsius" or "fahrenheit", default "celsius")
}

// The built-in tools explain what went wrong, so that a model can correct itself.
func ExampleFiles() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "service.toml"), []byte("port = 8080\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	registry, err := tools.NewRegistry(tools.Files(tools.FileOptions{Workspace: dir})...)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = registry.Call(context.Background(), "read_file", json.RawMessage(`{"file_path":"config.toml"}`))
	var problem *tools.Error
	if errors.As(err, &problem) {
		fmt.Println(problem.Kind, "-", problem)
	}
	result, err := registry.Call(context.Background(), "read_file", json.RawMessage(`{"file_path":"service.toml"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text)
	// Output:
	// not_found - there is no file "config.toml"; the workspace has "service.toml"; list_files shows all
	// service.toml: 1 line, 12 bytes, complete
	// port = 8080
}

// A log is understood without being told its format; the text is what a model reads.
func ExampleLogs() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log := `{"time":"2026-01-05T10:00:00Z","level":"info","msg":"started"}
{"time":"2026-01-05T10:00:09Z","level":"error","msg":"no answer from 10.0.0.7 after 3000 ms","code":"E42"}
{"time":"2026-01-05T10:01:12Z","level":"error","msg":"no answer from 10.0.0.9 after 3001 ms","code":"E42"}
`
	if err := os.WriteFile(filepath.Join(dir, "app.log"), []byte(log), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	registry, err := tools.NewRegistry(tools.Logs(tools.LogOptions{Workspace: dir})...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range [][2]string{
		{"aggregate_log_errors", `{"log_path":"app.log"}`},
		{"search_log", `{"log_path":"app.log","level":"error","since":"1m"}`},
	} {
		result, err := registry.Call(context.Background(), call[0], json.RawMessage(call[1]))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Text)
	}
	// Output:
	// app.log: 3 lines, 3 records, from 2026-01-05 10:00:00Z to 2026-01-05 10:01:12Z
	// levels: 2 error, 1 info
	// errors, the most frequent message first:
	// no answer from <ip> after <n> ms (error, 2 times, lines 2 to 3)
	// values of code: E42 2 times (all in errors)
	// 1 record of level error from 2026-01-05 10:00:12Z on in app.log (3 lines searched):
	// 3: 2026-01-05T10:01:12Z ERROR no answer from 10.0.0.9 after 3001 ms code=E42
	// [the log ends at 2026-01-05 10:01:12Z]
	// [since "1m" means 2026-01-05 10:00:12Z]
}
