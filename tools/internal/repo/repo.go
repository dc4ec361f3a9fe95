// Package repo reads the repository's files that git tracks or does not ignore, for the repository checks.
package repo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file with its slash-separated path from the root.
type File struct {
	Path string
	Text []byte
}

// Root returns the top directory of the checkout that contains the working directory.
func Root() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	return strings.TrimSpace(string(out)), err
}

// Paths returns the sorted paths of the files under root that are tracked, or new and not ignored. Deleted files are
// omitted.
func Paths(root string) ([]string, error) {
	command := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	var paths []string
	for path := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
		if info, err := os.Stat(filepath.Join(root, string(path))); err == nil && info.Mode().IsRegular() {
			paths = append(paths, string(path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Read reads the files whose paths are accepted by wanted.
func Read(root string, paths []string, wanted func(path string) bool) ([]File, error) {
	var files []File
	for _, path := range paths {
		if !wanted(path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		files = append(files, File{path, text})
	}
	return files, nil
}
