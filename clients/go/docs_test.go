package postern_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const page = "../../docs/clients/go.md"

// block is a code block of the documentation. kind is the text after the opening fence: go, go project, go webhook,
// sh, or nothing for an output.
type block struct {
	kind, code string
	section    string // its heading
	output     string // if the next block shows an output, its content
}

// codeBlocks returns the blocks of a page without their indentation. A block that shows an output is added to the
// block before it.
func codeBlocks(t *testing.T, file string) []block {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	section, indent, open := "", "", false
	for _, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case open && trimmed == "```":
			if n := len(blocks) - 1; n > 0 && blocks[n].kind == "" {
				blocks[n-1].output = blocks[n].code
				blocks = blocks[:n]
			}
			open = false
		case open:
			blocks[len(blocks)-1].code += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(trimmed, "```"):
			indent, open = line[:len(line)-len(trimmed)], true
			blocks = append(blocks, block{kind: trimmed[3:], section: section})
		case strings.HasPrefix(line, "#"):
			section = strings.Trim(line, "# ")
		}
	}
	return blocks
}

// shows reports whether output matches the output on the page, where … stands for any text. The model's name may
// differ, because the demo's catalog and the tests' catalog have different models.
func (b block) shows(output string) bool {
	pattern := strings.NewReplacer("…", ".*", "gpt-4\\.1-mini", "\\S+").Replace(regexp.QuoteMeta(b.output))
	return regexp.MustCompile("(?s)^" + pattern + "$").MatchString(output)
}

// documentation has the code blocks of docs/clients/go.md, grouped by how they are run.
type documentation struct {
	quickStart []block // commands, and a program
	fragments  []block
	webhook    block   // a function
	commands   []block // run in a program's module
}

func readDocumentation(t *testing.T) (d documentation) {
	for _, b := range codeBlocks(t, page) {
		switch {
		case b.section == "Quick start":
			d.quickStart = append(d.quickStart, b)
		case b.kind == "go" || b.kind == "go project":
			d.fragments = append(d.fragments, b)
		case b.kind == "go webhook":
			d.webhook = b
		case b.kind == "sh":
			d.commands = append(d.commands, b)
		default:
			t.Errorf("%s: nothing runs a block of %q", b.section, b.kind)
		}
	}
	if len(d.quickStart) != 6 || len(d.fragments) < 14 || d.webhook.code == "" || len(d.commands) != 1 {
		t.Fatalf("%d, %d, %d blocks", len(d.quickStart), len(d.fragments), len(d.commands))
	}
	return d
}

// fragmentProgram runs one code block that is not a complete program.
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

var _ = []any{json.Valid, errors.New, fmt.Print, slog.Default, time.Now}

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

// newFragments builds a program that runs the block whose number is its argument.
func newFragments(t *testing.T, blocks []block) program {
	var cases strings.Builder
	for i, b := range blocks {
		code := b.code
		if !strings.HasSuffix(code, "\nreturn err\n") {
			code += "return nil\n"
		}
		fmt.Fprintf(&cases, "\t\"%d\": func(ctx context.Context, client *postern.Client) error {\n%s},\n", i, code)
	}
	return newProgram(t, strings.Replace(fragmentProgram, "%BLOCKS%", cases.String(), 1))
}

// runFragments runs each block twice, because readers do.
func runFragments(t *testing.T, d documentation, p program, g gateway) {
	for i, b := range d.fragments {
		t.Run(fmt.Sprintf("%s %d", b.section, i), func(t *testing.T) {
			key := g.DevelopmentKey
			if b.kind == "go project" {
				key = g.ProjectKey
			}
			for range 2 {
				output, ok := p.run(g.URL, key, strconv.Itoa(i))
				if !ok || strings.TrimSpace(output) == "" || b.output != "" && !b.shows(output) {
					t.Fatalf("%s\nprinted %q, want %q", b.code, output, b.output)
				}
			}
		})
	}
}

// runCommands runs commands in a module that uses the package.
func runCommands(t *testing.T, d documentation, p program) {
	for _, b := range d.commands {
		output := shell(t, p.folder, nil, b.code)
		for _, name := range []string{"type Error interface", "*BudgetExceededError", "*WebhookVerificationError"} {
			if !strings.Contains(output, name) {
				t.Errorf("%s printed %s", b.code, output)
			}
		}
	}
}

// quickStartScript returns the commands of the quick start in order. It leaves out `make dev`, because the test has
// its own gateway. The commands run in folders that contain only the package and the files that `make dev` writes.
func quickStartScript(t *testing.T, blocks []block) string {
	kinds, script := []string{}, "cd \"$REPOSITORY\"\n"
	for _, b := range blocks {
		kinds = append(kinds, b.kind)
		switch {
		case b.code == "make dev\n":
		case strings.HasPrefix(b.code, "go mod init"):
			script += "cd \"$EMPTY\"\n" + strings.Replace(b.code, "=…/", "=\"$REPOSITORY\"/", 1)
		case b.kind == "go":
			script += "cat >main.go <<'END'\n" + b.code + "END\n"
		case strings.HasPrefix(b.code, "# in the repository"):
			script += "cd \"$REPOSITORY\"\n" + strings.ReplaceAll(b.code, "go run ./cmd/postern", "\"$POSTERN\"") +
				"cd \"$EMPTY\"\nPOSTERN_API_KEY=$(cat \"$REPOSITORY\"/.dev/empty.key) go run . 2>&1 | cat\n"
		default:
			script += b.code
		}
	}
	if want := []string{"sh", "sh", "sh", "go", "sh", "sh"}; !slices.Equal(kinds, want) {
		t.Fatalf("blocks %v, want %v", kinds, want)
	}
	return script
}

func runQuickStart(t *testing.T, d documentation, g gateway) {
	repository := t.TempDir()
	packClient(t, repository)
	keys := fmt.Sprintf(`{"gatewayKey":%q,"adminToken":%q}`, g.DevelopmentKey, adminToken)
	write(t, filepath.Join(repository, ".dev/keys.json"), keys)
	command, err := filepath.Abs("../../build/test/postern")
	if err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	output := shell(t, repository, []string{
		"REPOSITORY=" + repository, "EMPTY=" + empty, "POSTERN=" + command, "POSTERN_BASE_URL=" + g.URL,
	}, quickStartScript(t, d.quickStart))
	shown := block{output: d.quickStart[4].output + "…no budget left for request req_…\n"}
	if d.quickStart[4].output == "" || !shown.shows(output) {
		t.Errorf("printed %q, want %q", output, shown.output)
	}
	output = shell(t, empty, []string{"POSTERN_BASE_URL=" + g.URL, "POSTERN_API_KEY=" + g.ProductionKey}, "go run .")
	if !strings.HasPrefix(output, "1 2 3\n") || strings.HasSuffix(output, " cost 0 cents\n") {
		t.Errorf("with a production key: %q", output)
	}
}
