package governor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const dataFolder = "../../testdata/governor"

type ruleData struct {
	file             string
	name, severity   string
	source           string
	formats, near    []string
	positives, fails []example
}

// example is a line of a data file. The finding must be at [start, end). In near misses, end is 0.
type example struct {
	line       string
	text       []byte
	start, end int
}

// readData reads the rules of every file. The tokens of each line are generated with a fixed seed.
func readData(t testing.TB) []ruleData {
	t.Helper()
	files, err := filepath.Glob(dataFolder + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no data: %v", err)
	}
	var all []ruleData
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, readFile(t, filepath.Base(file), string(content))...)
	}
	return all
}

func readFile(t testing.TB, file, content string) (all []ruleData) {
	t.Helper()
	for number, line := range strings.Split(content, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s:%d", file, number+1)
		if name, ok := strings.CutPrefix(line, "rule "); ok {
			name, severity, _ := strings.Cut(name, " ")
			all = append(all, ruleData{file: file, name: name, severity: severity})
			continue
		}
		if len(all) == 0 || !all[len(all)-1].add(line, where, uint64(number)) {
			t.Fatalf("%s: malformed line %q", where, line)
		}
	}
	return all
}

func (r *ruleData) add(line, where string, seed uint64) bool {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "source":
		r.source = rest
	case "definition":
	case "format":
		format, near, _ := strings.Cut(rest, " near ")
		r.formats, r.near = append(r.formats, format), append(r.near, near)
	case "+", "-":
		text := expand(rest, r, rand.New(rand.NewPCG(seed, 7)))
		start, end := strings.Index(text, "«"), strings.Index(text, "»")-len("«")
		e := example{where + " " + text, []byte(strings.NewReplacer("«", "", "»", "", `\n`, "\n").Replace(text)), start, end}
		if word == "-" {
			e.end = 0
			r.fails = append(r.fails, e)
			return start < 0
		}
		if newlines := strings.Count(text[:start], `\n`); newlines > 0 {
			e.start, e.end = e.start-newlines, e.end-newlines
		}
		e.end -= strings.Count(text[start:end], `\n`)
		r.positives = append(r.positives, e)
		return start >= 0 && end > start
	default:
		return false
	}
	return true
}

func describe(text []byte, f Finding) string {
	name := "keyword or pattern"
	if int(f.Rule) < len(table) {
		name = table[f.Rule].Name
	}
	return fmt.Sprintf("%s [%d,%d) %q", name, f.Start, f.End, text[f.Start:f.End])
}

func describeWith(rules *Rules, text []byte, all []Finding) string {
	var out []string
	p := rules.settings.Policy()
	for _, f := range all {
		name, _, _ := p.Rule(f.Rule)
		out = append(out, fmt.Sprintf("%s [%d,%d) %q", name, f.Start, f.End, text[f.Start:f.End]))
	}
	return strings.Join(out, ", ")
}

func describeAll(text []byte, all []Finding) string {
	var out []string
	for _, f := range all {
		out = append(out, describe(text, f))
	}
	return strings.Join(out, ", ")
}

func TestExamples(t *testing.T) {
	rules := AllRules()
	for _, r := range readData(t) {
		id, ok := Lookup(r.name)
		if !ok {
			t.Errorf("%s: unknown rule %q", r.file, r.name)
			continue
		}
		for _, e := range r.positives {
			want := Finding{id, e.start, e.end}
			if got := Scan(e.text, rules, nil); !slices.Contains(got, want) {
				t.Errorf("%s\nfinds %s\nwant %s", e.line, describeAll(e.text, got), describe(e.text, want))
			}
		}
		for _, e := range r.fails {
			got := Scan(e.text, rules, nil)
			if i := slices.IndexFunc(got, func(f Finding) bool { return f.Rule == id }); i >= 0 {
				t.Errorf("%s\nfinds %s", e.line, describe(e.text, got[i]))
			}
		}
	}
}

// TestDataCoversEveryRule compares the table with the data. It compares names, severities, formats, sources and
// counts.
func TestDataCoversEveryRule(t *testing.T) {
	all := readData(t)
	have := map[string]bool{}
	for _, r := range all {
		if have[r.name] {
			t.Errorf("%s: %s appears twice", r.file, r.name)
		}
		have[r.name] = true
		if len(r.positives) < 5 || len(r.fails) < 5 || r.source == "" {
			t.Errorf("%s: %s has %d positives, %d near misses, source %q; want at least 5 each and a source", r.file, r.name, len(r.positives), len(r.fails), r.source)
		}
		id, _ := Lookup(r.name)
		if got := table[id].Severity.String(); got != r.severity {
			t.Errorf("%s: severity %s in the table, %s in the data", r.name, got, r.severity)
		}
		patterns, formats := patternsOf(id), slices.Sorted(slices.Values(r.formats))
		if !slices.Equal(patterns, formats) {
			t.Errorf("%s: formats %q in the table, %q in the data", r.name, patterns, formats)
		}
	}
	for _, r := range table {
		if !have[r.Name] && r.Category <= Injection {
			t.Errorf("%s is not in %s", r.Name, dataFolder)
		}
	}
}

func patternsOf(id ID) (patterns []string) {
	for i := range tokenFormats {
		if f := &tokenFormats[i]; f.rule == table[id].Name {
			patterns = append(patterns, strings.Fields(f.patterns)...)
		}
	}
	slices.Sort(patterns)
	return patterns
}

// TestEverySplit scans every positive in two pieces, for every position of the cut. It also scans every positive in
// pieces of 1 to 8 bytes.
func TestEverySplit(t *testing.T) {
	rules := withKeywords("project bluebird", "token", "übe", "naïve")
	for _, r := range readData(t) {
		for _, e := range slices.Concat(r.positives, r.fails[:1]) {
			if len(e.text) > 700 {
				continue // covered by TestLongFindingsInPieces
			}
			want := Scan(e.text, rules, nil)
			for cut := range e.text {
				compareSplit(t, e, want, rules, e.text[:cut], e.text[cut:])
			}
			for size := 1; size <= 8; size++ {
				compareSplit(t, e, want, rules, slices.Collect(slices.Chunk(e.text, size))...)
			}
		}
	}
}

func compareSplit(t *testing.T, e example, want []Finding, rules *Rules, pieces ...[]byte) {
	t.Helper()
	got, _ := scanPieces(t, rules, pieces...)
	if !slices.Equal(got, want) {
		t.Fatalf("%s\nin %d pieces, the first %q, finds %s\nwant %s", e.line, len(pieces), pieces[0], describeAll(e.text, got), describeAll(e.text, want))
	}
}

func resumed(t testing.TB, s *Scanner, rules *Rules) *Scanner {
	state := s.AppendState(nil)
	next, err := Resume(state, rules)
	if err != nil || len(state) > MaxState {
		t.Fatalf("Resume(%x): %v", state, err)
	}
	return next
}

// scanPieces scans a text in pieces and checks the contract of Next. Only the scanner's state is kept between two
// pieces. held is the largest number of bytes held back.
func scanPieces(t testing.TB, rules *Rules, pieces ...[]byte) (found []Finding, held int) {
	s := NewScanner(rules)
	var window []byte
	for i, piece := range append(pieces, nil) {
		before, final := s.Offset(), i == len(pieces)
		window = append(window, piece...)
		count := len(found)
		var done int
		found, done = s.Next(window, final, found)
		for _, f := range found[count:] {
			if f.Start < before || f.End > before+done {
				t.Fatalf("finding [%d,%d) outside the decided [%d,%d)", f.Start, f.End, before, before+done)
			}
		}
		if final && done != len(window) {
			t.Fatalf("%d of %d bytes decided at the end", done, len(window))
		}
		window = bytes.Clone(window[done:])
		held = max(held, len(window))
		s = resumed(t, s, rules)
	}
	return found, held
}
