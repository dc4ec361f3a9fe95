package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

//go:embed switch.go.txt
var switchSource string

// instrumented holds sources with mutant switches, by path from the root, and their mutants.
type instrumented struct {
	sources map[string][]byte
	mutants []mutant
}

// instrumentAll instruments the non-test files of packages. Missing folders are skipped.
func instrumentAll(root string, folders []string) (instrumented, error) {
	var m mutator
	all := instrumented{sources: map[string][]byte{}}
	names := map[string]string{}
	for _, folder := range folders {
		files, err := sources(root, folder)
		if err != nil {
			return all, err
		}
		for _, f := range files {
			text, err := m.instrument(f)
			if err != nil {
				return all, err
			}
			all.sources[f.Path] = text
			names[folder] = packageName(f)
		}
	}
	for folder, name := range names {
		text := strings.NewReplacer("PACKAGE", name, "COUNT", strconv.Itoa(len(m.mutants))).Replace(switchSource)
		all.sources[path.Join(folder, "mutant_switch.go")] = []byte(text)
	}
	all.mutants = m.mutants
	return all, nil
}

func packageName(f repo.File) string {
	parsed, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return parsed.Name.Name
}

// sources reads the non-test Go files of a folder.
func sources(root, folder string) ([]repo.File, error) {
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, path.Join(folder, e.Name()))
	}
	return repo.Read(root, paths, func(p string) bool {
		return strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go")
	})
}

// builder compiles tests against instrumented sources. work is its output folder.
type builder struct {
	root, work string
}

// overlay writes the instrumented sources and the overlay file that makes the Go tool use them.
func (b builder) overlay(all instrumented) error {
	replace := map[string]string{}
	for p, text := range all.sources {
		file := filepath.Join(b.work, "src", p)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
		replace[filepath.Join(b.root, p)] = file
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.overlayFile(), text, 0o644)
}

func (b builder) overlayFile() string { return filepath.Join(b.work, "overlay.json") }

// compile builds the test binary of a package and returns its path, or "" if the package has no tests or is missing.
func (b builder) compile(folder string) (string, error) {
	if _, err := os.Stat(filepath.Join(b.root, folder)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	binary := filepath.Join(b.work, "bin", strings.ReplaceAll(folder, "/", "-")+".test")
	if err := os.Remove(binary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	command := exec.Command("go", "test", "-c", "-overlay", b.overlayFile(), "-o", binary, "./"+folder)
	command.Dir = b.root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go test -c ./%s: %w\n%s", folder, err, out)
	}
	if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return binary, nil
}

// digest identifies a set of test binaries and their flags.
func digest(suites []suite) (string, error) {
	sum := sha256.New()
	for _, s := range suites {
		text, err := os.ReadFile(s.binary)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, s.folder, s.flags, len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
