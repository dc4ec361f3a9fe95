// Command references finds file names in Markdown and comments that match no file in the repository. A name is
// resolved from the root, from the file that mentions it, and as the end of any path. * is a wildcard within a name.
// Names that git ignores belong to generated files and pass. Links in Markdown must lead to an existing file and
// heading.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// excluded lists files that may have dangling references. docs/reference/cli.md has the program's output, with names
// of users' files. An entry without dangling references is an error.
var excluded = []string{"docs/reference/cli.md"}

func main() {
	root, err := repo.Root()
	if err == nil {
		err = run(root, excluded, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "references:", err)
		os.Exit(1)
	}
}

func run(root string, excluded []string, out io.Writer) error {
	paths, err := repo.Paths(root)
	if err != nil {
		return err
	}
	files, err := repo.Read(root, paths, hasProse)
	if err != nil {
		return err
	}
	known := index(paths)
	missing, err := dangling(root, known, files)
	if err != nil {
		return err
	}
	faults := 0
	for _, l := range broken(known, files) {
		fmt.Fprintln(out, l)
		faults++
	}
	for _, m := range missing {
		if !slices.Contains(excluded, m.path) {
			fmt.Fprintf(out, "%s: file not found\n", m)
			faults++
		}
	}
	for _, file := range excluded {
		if !slices.ContainsFunc(missing, func(r reference) bool { return r.path == file }) {
			fmt.Fprintf(out, "%s: excluded, but has no dangling reference: remove it from the list in tools/references\n", file)
			faults++
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d dangling references, broken links or unused exclusions", faults)
	}
	return nil
}

// hasProse reports whether a file is searched for names.
func hasProse(file string) bool {
	switch path.Ext(file) {
	case ".md", ".go", ".ts", ".js", ".mjs", ".sh", ".yaml", ".toml":
		return !strings.Contains(file, "/testdata/")
	case ".txt":
		return strings.HasPrefix(file, "testdata/conformance/")
	}
	return path.Base(file) == "Makefile"
}

type reference struct {
	path string
	mention
}

func (r reference) String() string { return fmt.Sprintf("%s:%d: %s", r.path, r.line, r.name) }

// dangling returns the mentions that match no file.
func dangling(root string, known names, files []repo.File) ([]reference, error) {
	var unknown []reference
	for _, f := range files {
		for _, m := range mentions(f, known.isTop) {
			if !known.has(m.name, path.Dir(f.Path)) {
				unknown = append(unknown, reference{f.Path, m})
			}
		}
	}
	ignored, err := ignored(root, unknown)
	return slices.DeleteFunc(unknown, func(r reference) bool { return ignored[candidates(r)[0]] || ignored[candidates(r)[1]] }), err
}

// candidates returns the paths from the root to which a mention may refer.
func candidates(r reference) [2]string {
	return [2]string{path.Clean(r.name), path.Join(path.Dir(r.path), r.name)}
}

// ignored returns the mentioned paths that git ignores.
func ignored(root string, all []reference) (map[string]bool, error) {
	var input bytes.Buffer
	for _, r := range all {
		for _, candidate := range candidates(r) {
			if !strings.HasPrefix(candidate, "..") && !path.IsAbs(candidate) {
				input.WriteString(candidate + "\x00")
			}
		}
	}
	command := exec.Command("git", "check-ignore", "-z", "--stdin")
	command.Dir, command.Stdin = root, &input
	out, err := command.Output()
	var status *exec.ExitError
	if errors.As(err, &status) && status.ExitCode() == 1 { // no path is ignored
		err = nil
	}
	found := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		found[name] = true
	}
	return found, err
}

// names are the paths of the repository's files and folders, and tails are all ends of these paths.
type names struct {
	paths []string // files and folders
	tails map[string]bool
}

func index(files []string) names {
	n := names{tails: map[string]bool{}}
	seen := map[string]bool{}
	for _, file := range files {
		for p := file; p != "." && !seen[p]; p = path.Dir(p) {
			seen[p] = true
			n.paths = append(n.paths, p)
		}
	}
	for _, p := range n.paths {
		for tail := p; tail != ""; {
			n.tails[tail] = true
			_, tail, _ = strings.Cut(tail, "/")
		}
	}
	return n
}

func (n names) isTop(name string) bool {
	return slices.ContainsFunc(n.paths, func(p string) bool { return strings.HasPrefix(p, name+"/") })
}

// has reports whether a name in a file of the folder from matches a file or folder.
func (n names) has(name, from string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "/..."), "/")
	for _, candidate := range []string{path.Clean(name), path.Join(from, name)} {
		if n.tails[candidate] || strings.Contains(name, "*") && n.matches(candidate) {
			return true
		}
	}
	return false
}

// matches reports whether the end of any path matches a pattern.
func (n names) matches(pattern string) bool {
	for tail := range n.tails {
		if ok, err := path.Match(pattern, tail); ok && err == nil {
			return true
		}
	}
	return false
}
