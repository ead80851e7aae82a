package tools

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

type metadataArgs struct {
	FilePath string `json:"file_path" jsonschema:"file or folder, relative to the workspace" arg:"minlen=1"`
}

// FileMetadata is the Data of get_file_metadata.
type FileMetadata struct {
	Path       string    `json:"path"`
	Kind       string    `json:"kind"` // text, empty, sqlite, gzip, binary, or folder
	MIME       string    `json:"mime,omitempty"`
	Bytes      int64     `json:"bytes"`           // as stored
	Lines      *int      `json:"lines,omitempty"` // of text; a last line without a line end counts
	Encoding   string    `json:"encoding,omitempty"`
	Compressed bool      `json:"compressed,omitempty"`
	TextBytes  int64     `json:"text_bytes,omitempty"` // of text, decoded
	Modified   time.Time `json:"modified"`
	LinkTo     string    `json:"link_to,omitempty"`
	Tables     []string  `json:"tables,omitempty"` // of a SQLite database
	Files      *int      `json:"files,omitempty"`  // directly in a folder
	Folders    *int      `json:"folders,omitempty"`
	Content    string    `json:"content,omitempty"` // all of a short text file
}

func metadataTool(w *workspace) Tool {
	return mustFunc(Spec{
		Name:        "get_file_metadata",
		Takes:       []Subject{SubjectText, SubjectTable, SubjectDatabase, SubjectOther, SubjectFolder},
		Path:        "file_path",
		Description: "Tells the kind, size, number of lines, encoding and time of change of a file.",
		ReadOnly:    true,
		Limits:      []string{"lines of a compressed file are counted up to 2 GB of text"},
	}, func(ctx context.Context, args metadataArgs) (Result, error) {
		meta, err := w.metadata(ctx, args.FilePath)
		if err != nil {
			return Result{}, toolError("examining "+args.FilePath, err)
		}
		if meta.Kind == "text" {
			meta.Content = w.shortContent(ctx, args.FilePath)
		}
		return Result{Data: meta, Text: metadataText(meta) + allOfIt(meta.Content)}, nil
	})
}

func (w *workspace) metadata(ctx context.Context, path string) (FileMetadata, error) {
	t, problem := w.resolve(path)
	if problem != nil {
		return FileMetadata{}, problem
	}
	meta := FileMetadata{Path: t.show, Bytes: t.info.Size(), Modified: t.info.ModTime().UTC()}
	if linked := w.show(t.real); linked != t.show && w.isLink(path) {
		meta.LinkTo = linked
	}
	if t.info.IsDir() {
		meta.Kind, meta.Bytes = "folder", 0
		return meta, countFolder(t, &meta)
	}
	f, err := t.open()
	if err != nil {
		return meta, err
	}
	head, err := readHead(f)
	kind := sniff(head)
	if kind.name == "gzip" {
		kind, meta.Compressed = sniffInside(head, kind), true
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return meta, err
	}
	meta.Kind, meta.MIME = kind.name, kind.mime
	switch kind.name {
	case "sqlite":
		meta.Tables = tableNames(ctx, t)
	case "text", "empty":
		text, problem := w.openText(ctx, path)
		if problem != nil {
			return meta, problem
		}
		defer text.Close()
		lines, size, err := text.finish()
		if err != nil {
			return meta, err
		}
		meta.Lines, meta.Encoding, meta.TextBytes = &lines, text.encoding, size
	}
	return meta, nil
}

// isLink tells whether the last component of a path is a link.
func (w *workspace) isLink(path string) bool {
	info, err := os.Lstat(w.abs(path))
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// sniffInside classifies the content of a gzip file by its head, or the file itself when that does not decompress.
func sniffInside(head []byte, kind fileKind) fileKind {
	unzipped, err := gzip.NewReader(strings.NewReader(string(head)))
	if err != nil {
		return kind
	}
	inner := bufio.NewReaderSize(unzipped, sniffBytes)
	text, err := inner.Peek(sniffBytes)
	if len(text) == 0 && !errors.Is(err, io.EOF) {
		return kind
	}
	if inside := sniff(text); inside.name == "text" || inside.name == "empty" {
		return inside
	}
	return kind
}

func countFolder(t target, meta *FileMetadata) error {
	f, err := t.open()
	if err != nil {
		return err
	}
	children, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	folders := 0
	for _, child := range children {
		if child.IsDir() {
			folders++
		}
	}
	files := len(children) - folders
	meta.Files, meta.Folders = &files, &folders
	return nil
}

func metadataText(m FileMetadata) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nkind: %s", oneLine(m.Path), m.Kind)
	if m.Kind == "binary" || m.Kind == "gzip" {
		fmt.Fprintf(&b, " (%s)", m.MIME)
	}
	if m.Compressed && m.Kind != "gzip" {
		b.WriteString(", compressed with gzip")
	}
	if m.LinkTo != "" {
		fmt.Fprintf(&b, "\nlink to: %s", oneLine(m.LinkTo))
	}
	if m.Files != nil && m.Folders != nil {
		fmt.Fprintf(&b, "\ncontains: %s, %s", plural(*m.Files, "file"), plural(*m.Folders, "folder"))
	} else {
		fmt.Fprintf(&b, "\nsize: %s", byteSize(m.Bytes))
	}
	if m.Lines != nil {
		fmt.Fprintf(&b, "\nlines: %d\nencoding: %s", *m.Lines, cmp.Or(m.Encoding, "utf-8"))
	}
	if m.Compressed && m.Lines != nil {
		fmt.Fprintf(&b, "\nsize of the text: %s", byteSize(m.TextBytes))
	}
	if len(m.Tables) > 0 {
		fmt.Fprintf(&b, "\ntables: %s", oneLine(strings.Join(m.Tables, ", ")))
	}
	fmt.Fprintf(&b, "\nmodified: %s", m.Modified.Format(time.RFC3339))
	return b.String()
}
