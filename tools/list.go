package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

type listFilesArgs struct {
	Pattern       string `json:"pattern,omitempty" jsonschema:"which files: a glob such as **/*.md, or a folder; ** is all" arg:"minlen=1,default=**,core"`
	MaxResults    int    `json:"max_results,omitempty" jsonschema:"most files to list" arg:"min=0,max=2000,default=200"`
	IncludeHidden bool   `json:"include_hidden,omitempty" jsonschema:"also list hidden and ignored files" arg:"default=false"`
}

// A FileList is the Data of list_files.
type FileList struct {
	Pattern string       `json:"pattern"`
	Files   []ListedFile `json:"files"`
	Total   int          `json:"total"`             // matching files, listed or not
	Folders []FolderSize `json:"folders,omitempty"` // when not all files are listed: how many are where
	Ignored int          `json:"ignored"`           // hidden or ignored files and folders passed over
}

// A ListedFile is one file of a [FileList].
type ListedFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Kind  string `json:"kind"` // text, sqlite, gzip, a MIME type, or why the file cannot be read
}

// A FolderSize counts the matching files below a folder.
type FolderSize struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
}

func listFilesTool(w *workspace) Tool {
	return mustFunc(Spec{
		Name:        "list_files",
		Description: "Lists the files of the workspace with their sizes and kinds.",
		Takes:       []Subject{SubjectFolder, SubjectNone},
		ReadOnly:    true,
		Limits: []string{
			"hidden files and those named by .gitignore are listed on request, or when nothing else matches",
			"a pattern without a slash matches names in every folder",
		},
	}, func(ctx context.Context, args listFilesArgs) (Result, error) {
		args.MaxResults = cmp.Or(args.MaxResults, 200) // small models fill numbers with 0
		glob, problem := w.glob(args.Pattern)
		if problem != nil {
			return Result{}, problem
		}
		found, err := glob.files(ctx, w, args.MaxResults)
		if args.IncludeHidden && err == nil {
			found, err = glob.collect(ctx, w, args.MaxResults, true)
		}
		if err != nil {
			return Result{}, toolError("listing files", err)
		}
		list := FileList{Pattern: args.Pattern, Total: found.total, Ignored: found.left, Files: []ListedFile{}}
		for _, path := range found.paths {
			if err := ctx.Err(); err != nil {
				return Result{}, err
			}
			list.Files = append(list.Files, w.listed(path))
		}
		if len(list.Files) < list.Total {
			for _, folder := range slices.Sorted(maps.Keys(found.folders)) {
				list.Folders = append(list.Folders, FolderSize{joinShown(glob.start.show, folder), found.folders[folder]})
			}
		}
		return Result{Data: list, Text: listText(list, found.onlyIgnored)}, nil
	})
}

func listText(list FileList, onlyIgnored bool) string {
	var b strings.Builder
	if list.Total == 0 {
		fmt.Fprintf(&b, "no files match %q", list.Pattern)
		if list.Ignored > 0 {
			fmt.Fprintf(&b, " (%s passed over; set include_hidden to list them)", plural(list.Ignored, "hidden or ignored entry"))
		}
		return b.String()
	}
	b.WriteString(plural(list.Total, "file"))
	if list.Pattern != "**" {
		fmt.Fprintf(&b, " matching %q", list.Pattern)
	}
	if onlyIgnored {
		b.WriteString(", all hidden or ignored")
	}
	if len(list.Files) < list.Total {
		fmt.Fprintf(&b, "; the first %d:", len(list.Files))
	} else {
		b.WriteString(":")
	}
	for _, f := range list.Files {
		fmt.Fprintf(&b, "\n%s  %s  %s", oneLine(f.Path), plural(f.Bytes, "byte"), f.Kind)
	}
	if len(list.Files) < list.Total {
		fmt.Fprintf(&b, "\n[%s left out; give a narrower pattern]", plural(list.Total-len(list.Files), "file"))
		const maxFolders = 20
		for _, folder := range list.Folders[:min(maxFolders, len(list.Folders))] {
			fmt.Fprintf(&b, "\n%s/  %s", oneLine(folder.Path), plural(folder.Files, "file"))
		}
	}
	return b.String()
}

// listed examines one file of a listing. What cannot be read is listed with the reason.
func (w *workspace) listed(path string) ListedFile {
	out := ListedFile{Path: path}
	t, problem := w.resolve(path)
	if problem != nil {
		out.Kind = "cannot be read: " + problem.Message
		return out
	}
	out.Bytes = t.info.Size()
	if t.info.IsDir() {
		out.Bytes, out.Kind = 0, "link to folder "+w.show(t.real)
		return out
	}
	kind, err := t.sniff()
	if err != nil {
		out.Kind = "cannot be read: " + plainReason(err)
		return out
	}
	out.Kind = kind.name
	if kind.name == "binary" {
		out.Kind = kind.mime
	}
	return out
}

// sniff opens a file and looks at its first bytes.
func (t target) sniff() (fileKind, error) {
	f, err := t.open()
	if err != nil {
		return fileKind{}, err
	}
	defer f.Close()
	head, err := readHead(f)
	return sniff(head), err
}

func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}
