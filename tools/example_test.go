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
