// Command ratchets measures the sources and compares the numbers with those in tools/ratchets.json, which
// only get smaller:
//
//	ratchets                  fails if a number is not the one in the file
//	ratchets -tighten         writes the numbers that got smaller; fails if one got larger
//	ratchets -loosen NAME=WHY also writes the number of that name, larger than it was, with the reason
//
// The functions counted as long have over 40 lines (tests: 80); repeated lines are copies of at least 6
// lines in a row.
//
// The largest state of an exchange is not measured here, for that takes a run: the tests of core/explore hold
// it below a constant, which is lowered by hand.
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

// ratchet is a measure's entry in the file. Reason says why the value was allowed to grow the last time; it
// goes when the value shrinks. Files is what each file adds to a sum, to tell who is to blame when it grows.
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
	tighten := flag.Bool("tighten", false, "write the numbers that got smaller")
	loosen := flag.String("loosen", "", "NAME=WHY: also write this larger number, with the reason")
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
	held, err := load(file)
	if err != nil {
		return err
	}
	if !write {
		return check(held, measures, out)
	}
	return errors.Join(update(held, measures, loosen, out), save(file, held))
}

// check compares the measures with what is held, and prints every difference with the places behind it.
func check(held map[string]ratchet, measures []measure, out io.Writer) error {
	differences := len(unknown(held, measures))
	for _, m := range measures {
		limit, ok := held[m.name]
		switch {
		case !ok:
			fmt.Fprintf(out, "%s is %d and not in %s: run make ratchets\n", m.name, m.value, ratchetsFile)
		case m.value > limit.Value:
			blame(m, limit, out)
		case m.value < limit.Value:
			// No failure: two changes that each hold the number may better it together.
			fmt.Fprintf(out, "%s got better: %d, it was %d. Tighten %s: run make ratchets\n", m.name, m.value, limit.Value, ratchetsFile)
			continue
		default:
			continue
		}
		differences++
	}
	for _, name := range unknown(held, measures) {
		fmt.Fprintf(out, "%s is in %s and not measured: run make ratchets\n", name, ratchetsFile)
	}
	if differences > 0 {
		return fmt.Errorf("%d numbers differ from %s", differences, ratchetsFile)
	}
	return nil
}

// blame names a number that grew, and the places that it is about.
func blame(m measure, held ratchet, out io.Writer) {
	fmt.Fprintf(out, "%s got worse: %d, it was %d\n", m.name, m.value, held.Value)
	places := m.worse(held)
	for i, p := range places {
		if i == placesShown {
			fmt.Fprintf(out, "  and %d more\n", len(places)-i)
			return
		}
		fmt.Fprintln(out, " ", p)
	}
}

// update puts measures in the place of larger ones; one measure in that of a smaller one, with a reason.
func update(held map[string]ratchet, measures []measure, loosen string, out io.Writer) error {
	name, reason, _ := strings.Cut(loosen, "=")
	reason = strings.TrimSpace(reason)
	if loosen != "" && reason == "" {
		return fmt.Errorf("-loosen %s: the reason is missing", name)
	}
	worse, used := 0, loosen == ""
	for _, m := range measures {
		limit, ok := held[m.name]
		switch {
		case !ok || m.value < limit.Value:
			held[m.name] = ratchet{m.value, "", m.files}
		case m.value > limit.Value && m.name == name:
			held[m.name] = ratchet{m.value, reason, m.files}
			used = true
		case m.value > limit.Value:
			blame(m, limit, out)
			worse++
		default:
			held[m.name] = ratchet{m.value, limit.Reason, m.files}
		}
	}
	for _, gone := range unknown(held, measures) {
		delete(held, gone)
	}
	if worse > 0 {
		return fmt.Errorf("%d numbers got worse, and ratchets only tighten", worse)
	}
	if !used {
		return fmt.Errorf("-loosen %s: no number of that name got worse", name)
	}
	return nil
}

// unknown names the entries that nothing measures any more.
func unknown(held map[string]ratchet, measures []measure) []string {
	var names []string
	for name := range held {
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
	var held map[string]ratchet
	if err := decoder.Decode(&held); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return held, nil
}

func save(file string, held map[string]ratchet) error {
	text, err := json.MarshalIndent(held, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
