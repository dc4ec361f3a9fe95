// Command generate writes the committed files that are derived from others, which list.go lists:
//
//	generate             writes them
//	generate -check      fails if one is out of date, and writes nothing to the repository
//	generate -only TEXT  takes the entries of the list that contain the text
//
// To check, it runs the generators in a copy of the repository and compares the copy with the original. Files that a
// Go test compares are left to that test. Go caches the test's result until something changes.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/postern-ai/postern/tools/internal/repo"
)

func main() {
	check := flag.Bool("check", false, "fail if a file is out of date; write nothing")
	only := flag.String("only", "", "take the entries that contain this `TEXT`")
	flag.Parse()
	list := slices.DeleteFunc(slices.Clone(generators), func(g generator) bool { return !strings.Contains(g.writes+g.command, *only) })
	root, err := repo.Root()
	switch {
	case err != nil:
	case len(list) == 0:
		err = fmt.Errorf("no entry of tools/generate/list.go contains %q", *only)
	case *check:
		err = checkAll(root, list, os.Stdout)
	default:
		err = writeAll(root, list, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// writeAll runs the generators in order.
func writeAll(root string, list []generator, out io.Writer) error {
	for _, g := range list {
		began := time.Now()
		if err := run(root, g.command); err != nil {
			return fmt.Errorf("%s: %w", g.writes, err)
		}
		fmt.Fprintf(out, "%6.1f s  %s\n", time.Since(began).Seconds(), g.writes)
	}
	return nil
}

// checkAll prints the files that a generator would change.
func checkAll(root string, list []generator, out io.Writer) error {
	stale, err := checkCopy(root, list)
	if err != nil {
		return err
	}
	for _, path := range stale {
		fmt.Fprintf(out, "%s is out of date\n", path)
	}
	failed := len(stale)
	for _, g := range list {
		if g.test == "" {
			continue
		}
		if err := run(root, g.test); err != nil {
			fmt.Fprintf(out, "%s: %v\n", g.writes, err)
			failed++
		}
	}
	if failed > 0 {
		return errors.New("run `make generate`, and review what it changes")
	}
	return nil
}

// checkCopy runs the generators in a copy of the repository, and lists the files that they change, add or remove.
func checkCopy(root string, list []generator) ([]string, error) {
	folder, err := os.MkdirTemp("", "postern-generate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := copyRepository(root, folder); err != nil {
		return nil, err
	}
	for _, g := range list {
		if g.test != "" {
			continue
		}
		// Go reuses code that it compiled in another copy if the result contains no paths.
		if err := run(folder, g.command, "GOFLAGS=-trimpath"); err != nil {
			return nil, fmt.Errorf("%s: %w", g.writes, err)
		}
	}
	return differences(root, folder)
}

// installed lists what tools/setup.sh installs and git ignores. A copy of the repository links to it.
var installed = []string{".tools", "node_modules"}

func copyRepository(from, to string) error {
	paths, err := repo.Paths(from)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := copyFile(filepath.Join(from, path), filepath.Join(to, path)); err != nil {
			return err
		}
	}
	for _, name := range installed {
		if err := os.Symlink(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return run(to, "git init --quiet && printf '/%s\\n' "+installed[0]+" "+installed[1]+" >>.git/info/exclude")
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// differences lists the files that differ or that only one of two repositories has.
func differences(one, other string) ([]string, error) {
	first, err := repo.Paths(one)
	if err != nil {
		return nil, err
	}
	second, err := repo.Paths(other)
	if err != nil {
		return nil, err
	}
	all := append(first, second...)
	slices.Sort(all)
	var found []string
	for _, path := range slices.Compact(all) {
		a, missing := os.ReadFile(filepath.Join(one, path))
		b, gone := os.ReadFile(filepath.Join(other, path))
		if missing != nil || gone != nil || !bytes.Equal(a, b) {
			found = append(found, path)
		}
	}
	return found, nil
}

// run runs a command in a folder. An error contains the command's output.
func run(folder, command string, variables ...string) error {
	c := exec.Command("bash", "-euo", "pipefail", "-c", command)
	c.Dir = folder
	c.Env = append(os.Environ(), variables...)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, text)
	}
	return nil
}
