package postern_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fragmentProgram runs one of the documentation's code blocks that are not programs themselves.
const fragmentProgram = `package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	postern "github.com/postern-ai/postern/clients/go"
)

var _ = []any{errors.New, fmt.Print, slog.Default, time.Now}

var blocks = map[string]func(context.Context, *postern.Client) error{
%BLOCKS%}

func main() {
	client, err := postern.New()
	if err == nil {
		err = blocks[os.Args[1]](context.Background(), client)
	}
	if err != nil {
		log.Fatal(err)
	}
}
`

// block is a code block of the documentation. info is the text after the language.
type block struct{ info, code string }

// codeBlocks returns the blocks of Go code, without their indentation.
func codeBlocks(t *testing.T, file string) []block {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	indent, open := "", false
	for _, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case open && trimmed == "```":
			open = false
		case open:
			blocks[len(blocks)-1].code += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(trimmed, "```go"):
			indent, open = line[:len(line)-len(trimmed)], true
			blocks = append(blocks, block{info: strings.TrimSpace(strings.TrimPrefix(trimmed, "```go"))})
		}
	}
	return blocks
}

// program is a module of its own, as a stranger would make one.
type program struct{ folder string }

func newProgram(t *testing.T, code string) program {
	p := program{t.TempDir()}
	client, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.folder, "main.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "example.com/hello"},
		{"mod", "edit", "-replace", "github.com/postern-ai/postern/clients/go=" + client},
		{"mod", "tidy"},
		{"vet", "."},
		{"build", "-o", "hello", "."},
	} {
		command := exec.Command("go", args...)
		command.Dir = p.folder
		command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off") // nothing may be downloaded
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s\n%s", strings.Join(args, " "), err, output, code)
		}
	}
	return p
}

// run returns the program's output and whether it succeeded.
func (p program) run(url, key string, args ...string) (string, bool) {
	command := exec.Command("./hello", args...)
	command.Dir = p.folder
	command.Env = []string{"POSTERN_BASE_URL=" + url, "POSTERN_API_KEY=" + key}
	output, err := command.CombinedOutput()
	return string(output), err == nil
}

// fragments are code blocks in one program, which runs the block with the number in its argument.
type fragments struct {
	program
	blocks []block
}

// documentation compiles the code blocks of docs/clients/go.md: a program, and fragments.
func documentation(t *testing.T) (program, fragments) {
	blocks := codeBlocks(t, "../../docs/clients/go.md")
	if len(blocks) < 6 || !strings.Contains(blocks[0].code, "package main") {
		t.Fatalf("%d code blocks; the first must be a program", len(blocks))
	}
	var cases strings.Builder
	for i, b := range blocks[1:] {
		fmt.Fprintf(&cases, "\t\"%d\": func(ctx context.Context, client *postern.Client) error {\n%s\nreturn nil\n},\n", i, b.code)
	}
	code := strings.Replace(fragmentProgram, "%BLOCKS%", cases.String(), 1)
	return newProgram(t, blocks[0].code), fragments{newProgram(t, code), blocks[1:]}
}

func runFragments(t *testing.T, f fragments, g gateway) {
	for i, b := range f.blocks {
		key := g.DevelopmentKey
		if b.info == "project" {
			key = g.ProjectKey
		}
		if output, ok := f.run(g.URL, key, strconv.Itoa(i)); !ok || output == "" {
			t.Errorf("%s\nfailed: %s", b.code, output)
		}
	}
}

func runQuickStart(t *testing.T, p program, g gateway) {
	output, ok := p.run(g.URL, g.DevelopmentKey)
	if want := "This is Postern's test mode. You said: count to 3\n"; !ok || !strings.HasPrefix(output, want) || !strings.HasSuffix(output, " cost 0 cents\n") {
		t.Errorf("with a development key: %q", output)
	}
	output, ok = p.run(g.URL, g.ProductionKey)
	if !ok || !strings.HasPrefix(output, "1 2 3\n") || strings.HasSuffix(output, " cost 0 cents\n") {
		t.Errorf("with a production key: %q", output)
	}
	output, ok = p.run(g.URL, g.EmptyKey)
	if ok || !strings.Contains(output, "no budget left for request req_") {
		t.Errorf("without a budget: %q", output)
	}
}
