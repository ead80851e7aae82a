package benchmark

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FixtureDigest identifies what is in a folder: names, kinds and permissions of everything in it, contents of files, targets of
// links. Two digests are equal exactly when nothing was added, removed or changed; times do not count. Links are not followed,
// and what is neither file, folder nor link counts by its name and kind only.
func FixtureDigest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			if content, err = fileDigest(path); err != nil {
				return err
			}
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		// %q keeps names with line feeds apart from lines.
		fmt.Fprintf(sum, "%q %s %q\n", filepath.ToSlash(name), info.Mode(), content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the fixtures: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return string(sum.Sum(nil)), nil
}
