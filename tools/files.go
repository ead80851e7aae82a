package tools

import (
	"cmp"
	"context"
	"errors"
)

// FileOptions configure the file tools. Zero fields take the defaults.
type FileOptions struct {
	// Workspace is the folder that paths are relative to. It is required.
	Workspace string
	// AllowedRoots are the folders that may be read, absolute or relative to the workspace; by default the workspace.
	AllowedRoots []string
	MaxReadChars int // of read_file, in characters; 300000
	MaxMatches   int // the most that search_file shows; 50
}

func (o FileOptions) withDefaults() FileOptions {
	o.MaxReadChars = cmp.Or(o.MaxReadChars, 300_000)
	o.MaxMatches = cmp.Or(o.MaxMatches, 50)
	return o
}

// Files returns the tools list_files, get_file_metadata, read_file, search_file and count_lines. They only read, follow
// links only inside the allowed roots, and hold no files open between calls. A workspace that does not exist is an error
// of each call.
func Files(options FileOptions) []Tool {
	options = options.withDefaults()
	w := newWorkspace(options.Workspace, options.AllowedRoots)
	return []Tool{
		listFilesTool(w),
		metadataTool(w),
		readFileTool(w, options),
		searchFileTool(w, options),
		countLinesTool(w),
	}
}

// toolError returns the Error in err, or err as one. Context errors stay as they are, for the registry to name.
func toolError(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if problem, ok := errors.AsType[*Error](err); ok {
		return problem
	}
	return &Error{Kind: KindFailed, Message: doing + ": " + plainReason(err)}
}
