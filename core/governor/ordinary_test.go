package governor

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownSources lists text without findings: documents of this repository, and the core's code except tests and this
// package. Documents that show findings are not in the list.
func ownSources(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, folder := range []string{"../..", "../../docs", "../../docs/start", "../../docs/operate", "../../docs/project", "../../docs/project/decisions"} {
		pages, err := filepath.Glob(folder + "/*.md")
		if err != nil || len(pages) == 0 {
			t.Fatalf("no documents in %s: %v", folder, err)
		}
		files = append(files, pages...)
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "../governor") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestOrdinaryText scans at least 2,000 lines of ordinary text and code. There must be no finding.
func TestOrdinaryText(t *testing.T) {
	rules := AllRules()
	lines := 0
	for _, file := range append(ownSources(t), dataFolder+"/ordinary/lines.txt", dataFolder+"/ordinary/commands.txt") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Scan(text, rules, nil) {
			from := max(0, f.Start-40)
			t.Errorf("%s: %s after %q", file, describe(text, f), text[from:f.Start])
		}
		number := 0
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			number++
			if found := Scan(line, rules, nil); len(found) > 0 {
				t.Errorf("%s:%d: %s", file, number, describeAll(line, found))
			}
		}
		lines += number
	}
	if lines < 2000 {
		t.Errorf("only %d lines", lines)
	}
	t.Logf("nothing found in %d lines", lines)
}

// TestOrdinaryTextIsNotHeld streams ordinary text in pieces of 24 bytes. A chunk from a model has about that size.
// Only an unfinished word or group of digits is held back, and it is seldom longer than a piece.
func TestOrdinaryTextIsNotHeld(t *testing.T) {
	names, err := filepath.Glob("../../docs/project/decisions/*.md")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	var text []byte
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, content...)
	}
	rules := AllRules()
	s := NewScanner(rules)
	var window []byte
	total, pieces, most := 0, 0, 0
	for piece := range slices.Chunk(text, 24) {
		window = append(window, piece...)
		_, done := s.Next(window, false, nil)
		window = bytes.Clone(window[done:])
		total, pieces, most = total+len(window), pieces+1, max(most, len(window))
	}
	t.Logf("held after a piece of 24 bytes: %.1f bytes on average, %d at most", float64(total)/float64(pieces), most)
	if total > 12*pieces {
		t.Errorf("%d bytes held after %d pieces", total, pieces)
	}
}

// TestLongFindingsInPieces scans the findings that TestEverySplit leaves out, and words that are longer than maxWord.
func TestLongFindingsInPieces(t *testing.T) {
	rules := AllRules()
	long := strings.Repeat("abcdefghij0123456789", 200) + " a@example.com " + strings.Repeat("x", maxWord) + "a@example.com"
	texts := [][]byte{[]byte(long), []byte(strings.Repeat("4111 1111 1111 1111,", 100))}
	for _, r := range readData(t) {
		for _, e := range r.positives {
			if len(e.text) > 300 {
				texts = append(texts, e.text)
			}
		}
	}
	for _, text := range texts {
		want := Scan(text, rules, nil)
		for _, size := range []int{1, 7, 64, 1000} {
			got, held := scanPieces(t, rules, slices.Collect(slices.Chunk(text, size))...)
			if !slices.Equal(got, want) {
				t.Errorf("%.60q in pieces of %d finds %s\nwant %s", text, size, describeAll(text, got), describeAll(text, want))
			}
			if held > maxPrivateKey+100 {
				t.Errorf("%d bytes held", held)
			}
		}
	}
}

// TestScanAllocatesNothing: if a text has no findings, scanning it takes no memory.
func TestScanAllocatesNothing(t *testing.T) {
	text, err := os.ReadFile(dataFolder + "/ordinary/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := AllRules()
	if n := testing.AllocsPerRun(5, func() { Scan(text, rules, nil) }); n > 1 {
		t.Errorf("%.0f allocations", n)
	}
}

// TestLongRuns scans the start of a finding, followed by a run of one byte. The lengths of the runs are around the
// bounds of the scan. The scan must not crash or hang, and scanning in pieces must give the same findings.
func TestLongRuns(t *testing.T) {
	rules := AllRules()
	beginnings := []string{"x@a.", "x@[1", "x@a.é", "+1", "(", "1.", "::", "token=", "token: \"", "password is ", "a://b:", "a://", "eyJ", "MII", "-----BEGIN ", "<|", "born ", "--user ", "docker login -p ", "PuTTY-User-Key-File-", "char password[", "setToken(\"", "DE89", "sk-", "ignore "}
	for _, one := range readData(t) {
		for i, e := range one.positives {
			if i%8 == 0 {
				beginnings = append(beginnings, string(e.text[:len(e.text)*2/3]))
			}
		}
	}
	for _, beginning := range beginnings {
		for _, fill := range []string{"a", "Z", "7", ".", "-", " ", "é", "a1", "%3D", "(", "\\"} {
			for _, n := range []int{7, 24, 32, 64, 200, 256, 320, 600, 1030} {
				text := []byte(beginning + strings.Repeat(fill, n/len(fill)) + " end")
				want := Scan(text, rules, nil)
				if got, _ := scanPieces(t, rules, text[:len(text)/2], text[len(text)/2:]); !slices.Equal(got, want) {
					t.Errorf("%q and %d times %q: in pieces %s\nwant %s", beginning, n/len(fill), fill, describeAll(text, got), describeAll(text, want))
				}
			}
		}
	}
}
