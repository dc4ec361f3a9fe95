// Command ratchets measures the sources and compares the numbers with those in tools/ratchets.json, which may only
// decrease:
//
//	ratchets                     fails if a number is larger than in the file
//	ratchets -tighten            writes smaller numbers to the file; fails if a number is larger
//	ratchets -loosen NAME=REASON also writes the larger number NAME, with the reason
//
// Long functions have more than 40 lines (tests: 80). Repeated lines are copies of at least 6 consecutive lines.
// Biome limits lengths in TypeScript and JavaScript.
//
// The largest state of an exchange is not measured here because that requires a run. The tests in test/explore limit
// it with a constant, which is lowered manually.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/postern-ai/postern/tools/internal/repo"
)

// ratchet is a measure's entry in the file. Reason explains the last increase and is removed when the value shrinks.
// Files has each file's contribution to a sum, which helps find the cause of an increase.
type ratchet struct {
	Value  int            `json:"value"`
	Reason string         `json:"reason,omitempty"`
	Files  map[string]int `json:"files,omitempty"`
}

const (
	ratchetsFile = "tools/ratchets.json"
	placesShown  = 20
)

func main() {
	tighten := flag.Bool("tighten", false, "write smaller numbers to the file")
	loosen := flag.String("loosen", "", "`NAME=REASON`: also write the larger number NAME, with the reason")
	flag.Parse()
	root, err := repo.Root()
	if err == nil {
		err = run(root, *tighten || *loosen != "", *loosen, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ratchets:", err)
		os.Exit(1)
	}
}

func run(root string, write bool, loosen string, out io.Writer) error {
	paths, err := repo.Paths(root)
	if err != nil {
		return err
	}
	files, err := repo.Read(root, paths, isSource)
	if err != nil {
		return err
	}
	measures, err := measureAll(files)
	if err != nil {
		return err
	}
	file := filepath.Join(root, ratchetsFile)
	stored, err := load(file)
	if err != nil {
		return err
	}
	if !write {
		return check(stored, measures, out)
	}
	return errors.Join(update(stored, measures, loosen, out), save(file, stored))
}

// check compares the measures with the file and prints every difference, with the places that cause it.
func check(stored map[string]ratchet, measures []measure, out io.Writer) error {
	differences := len(unknown(stored, measures))
	for _, m := range measures {
		limit, ok := stored[m.name]
		switch {
		case !ok:
			fmt.Fprintf(out, "%s is %d, but %s has no entry: run make ratchets\n", m.name, m.value, ratchetsFile)
		case m.value > limit.Value:
			blame(m, limit, out)
		case m.value < limit.Value:
			// This is not a failure, because two changes that each keep the number may improve it together.
			fmt.Fprintf(out, "%s improved: %d, was %d. Update %s: run make ratchets\n", m.name, m.value, limit.Value, ratchetsFile)
			continue
		default:
			continue
		}
		differences++
	}
	for _, name := range unknown(stored, measures) {
		fmt.Fprintf(out, "%s is in %s, but is not measured: run make ratchets\n", name, ratchetsFile)
	}
	if differences > 0 {
		return fmt.Errorf("%d numbers differ from %s", differences, ratchetsFile)
	}
	return nil
}

// blame prints a number that increased, and the places that cause it.
func blame(m measure, stored ratchet, out io.Writer) {
	fmt.Fprintf(out, "%s got worse: %d, was %d\n", m.name, m.value, stored.Value)
	places := m.worse(stored)
	for i, p := range places {
		if i == placesShown {
			fmt.Fprintf(out, "  and %d more\n", len(places)-i)
			return
		}
		fmt.Fprintln(out, " ", p)
	}
}

// update replaces entries with smaller measures, and the entry named by loosen with a larger one.
func update(stored map[string]ratchet, measures []measure, loosen string, out io.Writer) error {
	name, reason, _ := strings.Cut(loosen, "=")
	reason = strings.TrimSpace(reason)
	if loosen != "" && reason == "" {
		return fmt.Errorf("-loosen %s: missing reason", name)
	}
	worse, used := 0, loosen == ""
	for _, m := range measures {
		limit, ok := stored[m.name]
		switch {
		case !ok || m.value < limit.Value:
			stored[m.name] = ratchet{m.value, "", m.files}
		case m.value > limit.Value && m.name == name:
			stored[m.name] = ratchet{m.value, reason, m.files}
			used = true
		case m.value > limit.Value:
			blame(m, limit, out)
			worse++
		default:
			stored[m.name] = ratchet{m.value, limit.Reason, m.files}
		}
	}
	for _, gone := range unknown(stored, measures) {
		delete(stored, gone)
	}
	if worse > 0 {
		return fmt.Errorf("%d numbers got worse", worse)
	}
	if !used {
		return fmt.Errorf("-loosen %s: this number did not get worse", name)
	}
	return nil
}

// unknown returns the names of entries without a measure.
func unknown(stored map[string]ratchet, measures []measure) []string {
	var names []string
	for name := range stored {
		if !measured(measures, name) {
			names = append(names, name)
		}
	}
	return names
}

func measured(measures []measure, name string) bool {
	for _, m := range measures {
		if m.name == name {
			return true
		}
	}
	return false
}

func load(file string) (map[string]ratchet, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return map[string]ratchet{}, nil
	} else if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var stored map[string]ratchet
	if err := decoder.Decode(&stored); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return stored, nil
}

func save(file string, stored map[string]ratchet) error {
	text, err := json.MarshalIndent(stored, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
