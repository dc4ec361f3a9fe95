// Package repo reads the files that git tracks or would track, for the checks of the repository.
package repo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file: its path from the root, with slashes, and its text.
type File struct {
	Path string
	Text []byte
}

// Root is the top folder of the checkout that holds the working directory.
func Root() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	return strings.TrimSpace(string(out)), err
}

// Paths lists the files under root that are tracked, or new and not ignored, in order. Deleted ones are
// left out.
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

// Read reads those of the paths that wanted names.
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
