package exchange_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/exchange"
)

var rewrite = flag.Bool("rewrite", false, "write the actual output to testdata/*.txt")

// TestTranscripts plays the transcripts in testdata. Each command is an event from the host, and the lines below
// ---- are the resulting phase and actions. testdata/README.md describes the format. Together they cover every
// every phase and row of the table, except some of the disconnect and lease rows
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: %v", err)
	}
	rows := make([]bool, len(exchange.Rows()))
	var seen []string
	played := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			seen = append(seen, runTranscript(t, file, rows)...)
			played++
		})
	}
	if played < len(files) {
		return // some transcripts were filtered out or failed
	}
	for _, phase := range exchange.PhaseNames()[1:] {
		if !slices.Contains(seen, phase) {
			t.Errorf("no transcript covers the phase %s", phase)
		}
	}
	for i, name := range exchange.Rows() {
		if !rows[i] && !strings.HasSuffix(name, "/disconnect") && !strings.HasPrefix(name, "lease:") { // exploration covers those
			t.Errorf("no transcript covers the row %s", name)
		}
	}
}

// runTranscript plays one file. It returns the phases that were reached.
func runTranscript(t *testing.T, file string, rows []bool) []string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := parseTranscript(t, file, string(data))
	s := newSession(t, rows)
	var text strings.Builder
	for _, b := range blocks {
		got := b.output
		if b.command != "" {
			got = s.play(&b)
		}
		if got != b.output && !*rewrite {
			t.Errorf("%s:%d: %s\n%s", file, b.line, b.command, difference(b.output, got))
		}
		b.output = got
		b.write(&text)
	}
	s.checkFinished()
	if *rewrite && text.String() != string(data) {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s.phases
}

// block is a comment, or a command with its input and output.
type block struct {
	line    int
	comment []string
	command string
	input   []string
	output  string
}

func (b *block) write(to *strings.Builder) {
	if to.Len() > 0 {
		to.WriteString("\n")
	}
	for _, line := range b.comment {
		to.WriteString(line + "\n")
	}
	if b.command == "" {
		return
	}
	to.WriteString(b.command + "\n")
	for _, line := range b.input {
		to.WriteString(line + "\n")
	}
	to.WriteString("----\n" + b.output)
}

// parseTranscript splits a file at empty lines. The first block must be a comment that describes the transcript.
func parseTranscript(t *testing.T, file, text string) (blocks []block) {
	lines := strings.Split(text, "\n")
	if !strings.HasPrefix(lines[0], "# ") {
		t.Fatalf("%s: the first line must be a comment", file)
	}
	for at := 0; at < len(lines); {
		if lines[at] == "" {
			at++
			continue
		}
		end := at
		for end < len(lines) && lines[end] != "" {
			end++
		}
		blocks = append(blocks, parseBlock(at+1, lines[at:end]))
		at = end
	}
	return blocks
}

func parseBlock(line int, lines []string) block {
	b := block{line: line}
	for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
		b.comment, lines = append(b.comment, lines[0]), lines[1:]
	}
	if len(lines) == 0 {
		return b
	}
	b.line += len(b.comment)
	b.command, lines = lines[0], lines[1:]
	end := slices.Index(lines, "----")
	if end < 0 {
		b.input = lines
		return b
	}
	b.input = lines[:end]
	for _, line := range lines[end+1:] {
		b.output += line + "\n"
	}
	return b
}

// difference returns a line diff of two texts. It uses their longest common subsequence.
func difference(want, got string) string {
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var text strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			fmt.Fprintf(&text, "  %s", a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&text, "- %s", a[i])
			i++
		default:
			fmt.Fprintf(&text, "+ %s", b[j])
			j++
		}
	}
	return text.String()
}
