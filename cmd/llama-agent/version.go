package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

// version is set by the linker (-X main.version=v1.2.3). Empty: what Go recorded about the build.
var version string

func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, also that of llama.cpp",
		Args:  arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			build := app.EngineBuild()
			if s.console.json {
				return s.console.printJSON(map[string]string{
					"version": ownVersion(), "llama_cpp": build.Version, "backend": build.Backend,
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			llama := fmt.Sprintf("llama.cpp %s, %s", build.Version, build.Backend)
			if build.Backend == "" {
				llama = "without llama.cpp"
			}
			s.console.printf("llama-agent %s (%s, %s, %s/%s)\n", ownVersion(), llama, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// ownVersion is the release, or the commit that an unreleased program was built from.
func ownVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return cmp.Or(commit(), "unreleased")
}

// commit is what the program was built from, as far as Go recorded it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}
