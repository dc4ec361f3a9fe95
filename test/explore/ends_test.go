package explore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A file in testdata/ends has the ends of a family's scenarios. It has one or more headings "== SCENARIO". After
// them, it has the outcomes of these scenarios, one per line.
const heading = "== "

// committed returns the ends in testdata/ends, by scenario.
var committed = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	files, _ := filepath.Glob("testdata/ends/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var names []string
		open := false // more headings may follow
		for line := range strings.Lines(string(text)) {
			name, isHeading := strings.CutPrefix(strings.TrimSuffix(line, "\n"), heading)
			if isHeading && !open {
				names = nil
			}
			if open = isHeading; isHeading {
				names, all[name] = append(names, name), ""
				continue
			}
			for _, one := range names {
				all[one] += line
			}
		}
	}
	return all
})

var reachedEnds struct {
	sync.Mutex
	byScenario map[string]string
}

// compareEnds compares a scenario's outcomes with the committed ones. With -rewrite, it only keeps them. writeEnds
// then writes them.
func (x *search) compareEnds(t *testing.T) {
	var ends []string
	for outcome := range x.outcomes {
		ends = append(ends, outcome)
	}
	slices.Sort(ends)
	text := strings.Join(ends, "\n") + "\n"
	if *rewrite {
		reachedEnds.Lock()
		defer reachedEnds.Unlock()
		if reachedEnds.byScenario == nil {
			reachedEnds.byScenario = map[string]string{}
		}
		reachedEnds.byScenario[x.scenario.name] = text
		return
	}
	if want := committed()[x.scenario.name]; want != text {
		t.Errorf("the ends differ from testdata/ends/%s.txt: run make generate and review the diff:\n%s", x.scenario.family, changes(want, text))
	}
}

// writeEnds writes testdata/ends. Scenarios that did not run keep their ends.
func writeEnds(t *testing.T) {
	files := map[string]string{}
	for _, family := range families() {
		name := filepath.Join("testdata/ends", family.name+".txt")
		files[name] = familyText(family.scenarios)
		if err := os.WriteFile(name, []byte(files[name]), 0o644); err != nil {
			t.Error(err)
		}
	}
	old, _ := filepath.Glob("testdata/ends/*.txt")
	for _, name := range old {
		if _, ok := files[name]; !ok {
			if err := os.Remove(name); err != nil {
				t.Error(err)
			}
		}
	}
}

// familyText groups scenarios that have the same ends. The groups are in the order of their first scenarios.
func familyText(scenarios []*scenario) string {
	var distinct []string
	headings := map[string]string{}
	for _, s := range scenarios {
		ends, ran := reachedEnds.byScenario[s.name]
		if !ran {
			ends = committed()[s.name]
		}
		if headings[ends] == "" {
			distinct = append(distinct, ends)
		}
		headings[ends] += heading + s.name + "\n"
	}
	text := ""
	for _, ends := range distinct {
		text += headings[ends] + ends
	}
	return text
}
