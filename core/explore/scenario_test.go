package explore_test

import (
	"fmt"
	"sort"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// scenario is one request and its finite world.
type scenario struct {
	name     string
	deploy   deployment
	headers  []abi.Header // of the request, pseudo headers included
	body     string
	alphabet alphabet
	own      alphabet // the part of it that this scenario is about: all of that must happen
	used     map[string]bool
	// allowed are the models that may be fetched: by the route, the key and the project's policy.
	entry   []byte // the cached answer, if there is one that is good
	allowed []string
	refused []uint64                                // statuses that the request deserves by itself
	mayName []string                                // further models that may be named in a settlement without having been asked
	leaves  bool                                    // the caller may leave at any point
	tamper  func(e *abi.Event, out *abi.StepOutput) // makes the machine a wrong one, to see that it is found; nil: no
	bare    bool                                    // the host has no memory of its own
	slow    bool                                    // the host answers nothing at once
	clock   bool                                    // timeouts, and timers but for ticks, move the clock
	shared  []byte                                  // what the isolate knows
	// meanwhile is what the isolate knows from some time on, which may be any; nil: as before.
	meanwhile []byte
	maxKept   int // bytes of one unfinished event, beyond the bound of the state
}

// deployment is how the gateway is configured.
type deployment struct {
	name    string
	catalog string
	env     []abi.Header
}

// alphabet says what may answer an action, by its meaning ("admit reserve", "stream", "cache", …).
type alphabet map[string][]choice

// choice is one answer.
type choice struct {
	name    string
	event   abi.Event
	reply   func(command any) []byte // an object's, to its command; nil: the event's data
	when    func(command any) bool   // whether it may answer a command; nil: always
	clean   bool                     // a provider's whole, clean 200
	script  *script                  // a stream follows this head
	times   int                      // how often on one path; 0: any number
	meaning string                   // of its alphabet
}

// script is a provider's stream. It may end or fail at any point.
type script struct {
	name   string
	pieces []piece
	faults []uint64
	noEnd  bool // it never just ends
	bad    bool // it is no answer
}

type piece struct {
	name string
	data []byte
	ends bool // with this piece the answer is whole and clean
}

func (a alphabet) with(more alphabet) alphabet {
	all := alphabet{}
	for meaning, choices := range a {
		all[meaning] = choices
	}
	for meaning, choices := range more {
		all[meaning] = choices
	}
	return all
}

func (s *scenario) happened(c *choice) {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	s.used[c.meaning+": "+c.name] = true
}

// unused are the choices of a scenario's own alphabet that never happened.
func (s *scenario) unused() (names []string) {
	for meaning, choices := range s.own {
		for _, c := range choices {
			if name := meaning + ": " + c.name; !s.used[name] {
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return names
}

func (a alphabet) String() string {
	var lines []string
	for meaning, choices := range a {
		var names []string
		for _, c := range choices {
			names = append(names, c.name)
		}
		lines = append(lines, meaning+": "+strings.Join(names, ", "))
	}
	sort.Strings(lines)
	return strings.Join(lines, "; ")
}

func (d *deployment) parse() *config.Config {
	env := append([]abi.Header(nil), d.env...)
	cfg, wrong := config.Parse(abi.Config{Catalog: []byte(d.catalog), Env: env})
	if wrong != "" {
		panic(fmt.Sprintf("deployment %s: %s", d.name, wrong))
	}
	return cfg
}
