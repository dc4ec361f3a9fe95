// Command lines counts the repository's lines by kind, in the working tree or in commits:
//
//	lines [COMMIT...]
//
// Files without text, such as images, do not count.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

func main() {
	flag.Parse()
	root, err := repo.Root()
	if err == nil {
		err = run(root, flag.Args(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lines:", err)
		os.Exit(1)
	}
}

func run(root string, commits []string, out io.Writer) error {
	if len(commits) == 0 {
		paths, err := repo.Paths(root)
		if err != nil {
			return err
		}
		files, err := repo.Read(root, paths, func(string) bool { return true })
		if err != nil {
			return err
		}
		show(out, "working tree", files)
	}
	for _, commit := range commits {
		files, err := filesOf(root, commit)
		if err != nil {
			return err
		}
		show(out, commit, files)
	}
	return nil
}

// filesOf reads the files of a commit.
func filesOf(root, commit string) ([]repo.File, error) {
	archive := exec.Command("git", "archive", "--format=tar", commit)
	archive.Dir = root
	text, err := archive.Output()
	if err != nil {
		return nil, fmt.Errorf("%s is no commit: %w", commit, err)
	}
	var files []repo.File
	for reader := tar.NewReader(bytes.NewReader(text)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		files = append(files, repo.File{Path: header.Name, Text: content})
	}
}

func show(out io.Writer, title string, files []repo.File) {
	count := map[string]int{}
	for _, f := range files {
		if !bytes.Contains(f.Text, []byte{0}) {
			count[kindOf(f)] += bytes.Count(f.Text, []byte("\n"))
		}
	}
	fmt.Fprintln(out, title)
	for _, kind := range kinds {
		fmt.Fprintf(out, "%7d  %s\n", count[kind], kind)
	}
}

const (
	product   = "product"
	tests     = "tests"
	testData  = "test data"
	documents = "documents"
	generated = "generated and lock files"
)

var kinds = []string{product, tests, testData, documents, generated}

// formerTestFolders contained only tests before they moved to test/.
var formerTestFolders = []string{
	"core/explore/", "core/sim/", "internal/fakeprovider/", "internal/faultvfs/", "internal/governorscan/", "internal/livestream/",
	"internal/pgtest/", "internal/pricelists/", "internal/testobject/", "internal/transcript/",
}

// generatedPaths lists files that are generated (by make generate, npm, Go and make bench) but have no comment that
// says so.
var generatedPaths = []string{"docs/clients/reference/", "package-lock.json", "go.sum", "bench/results.json"}

func kindOf(f repo.File) string {
	path := f.Path
	switch {
	case repo.IsGenerated(f.Text), containsAny(path, generatedPaths):
		return generated
	case strings.Contains(path, "testdata/"):
		return testData
	case strings.HasSuffix(path, ".md"), strings.HasPrefix(path, "docs/"), path == "LICENSE":
		return documents
	case repo.IsTest(path), strings.Contains(path, "/test/"), containsAny(path, formerTestFolders):
		return tests
	}
	return product
}

func containsAny(path string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}
