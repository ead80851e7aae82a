package tools

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

// LogOptions configure the log tools. Zero fields take the defaults.
type LogOptions struct {
	// Workspace is the folder that paths are relative to. It is required.
	Workspace string
	// AllowedRoots are the folders that may be read, absolute or relative to the workspace; by default the workspace.
	AllowedRoots   []string
	MaxReadChars   int // of the lines that one call shows, in characters; 300000
	MaxMatches     int // the most lines that search_log, and message patterns that aggregate_log_errors returns; 50
	MaxWindowLines int // the most lines that get_log_window shows; 40
}

func (o LogOptions) withDefaults() LogOptions {
	o.MaxReadChars = cmp.Or(o.MaxReadChars, 300_000)
	o.MaxMatches = cmp.Or(o.MaxMatches, 50)
	o.MaxWindowLines = cmp.Or(o.MaxWindowLines, 40)
	return o
}

// Logs returns the tools aggregate_log_errors, search_log and get_log_window. They only read, know the common log formats
// without being told, and take memory that does not grow with the log. A workspace that does not exist is an error of each
// call.
func Logs(options LogOptions) []Tool {
	options = options.withDefaults()
	w := newWorkspace(options.Workspace, options.AllowedRoots)
	return []Tool{aggregateTool(w, options), searchLogTool(w, options), logWindowTool(w, options)}
}

// A LevelCount counts the lines of a level: fatal, error, warn, info, debug, trace, or none.
type LevelCount struct {
	Level string `json:"level"`
	Count int    `json:"count"`
}

// levelCounts lists the levels that occur, the worst first.
func levelCounts(counts [logline.Levels]int) []LevelCount {
	list := []LevelCount{}
	for i, n := range slices.Backward(counts[:]) {
		if n > 0 {
			list = append(list, LevelCount{logline.Level(i).String(), n})
		}
	}
	return list
}

// levelText writes counts as "3 error, 12 info, 1 without a level".
func levelText(list []LevelCount) string {
	parts := make([]string, len(list))
	for i, l := range list {
		name := l.Level
		if name == logline.NoLevel.String() {
			name = "without a level"
		}
		parts[i] = fmt.Sprintf("%d %s", l.Count, name)
	}
	return strings.Join(parts, ", ")
}

// rotated returns the other files of a log: app.log.1, app.log-20260105, app.log.2.gz beside app.log, at most a few.
func (w *workspace) rotated(t target) []string {
	const most = 5
	f, err := (target{root: t.root, real: filepath.Dir(t.real)}).open()
	if err != nil {
		return nil
	}
	defer f.Close()
	children, err := f.ReadDir(-1)
	if err != nil && len(children) == 0 {
		return nil
	}
	sortEntries(children)
	base := filepath.Base(t.real)
	var found []string
	for _, child := range children {
		rest, ok := strings.CutPrefix(child.Name(), base)
		if ok && len(rest) > 1 && (rest[0] == '.' || rest[0] == '-') && child.Type().IsRegular() && len(found) < most {
			found = append(found, w.show(filepath.Join(filepath.Dir(t.real), child.Name())))
		}
	}
	return found
}

// rotatedText says that the other files of a log were not read.
func rotatedText(b *strings.Builder, files []string) {
	if len(files) > 0 {
		fmt.Fprintf(b, "\n[older parts of this log were not read: %s]", oneLine(strings.Join(files, ", ")))
	}
}
