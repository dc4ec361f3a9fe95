package explore_test

import (
	"fmt"
	"sort"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// scenario is one request with a finite environment.
type scenario struct {
	name        string
	family      string // the file of testdata/ends
	deploy      deployment
	headers     []abi.Header // headers of the request, with pseudo headers
	body        string
	alphabet    alphabet
	added       alphabet // choices that this scenario adds; each must be used
	used        map[string]bool
	entry       []byte                                  // a valid cached response; nil: none
	allowed     []string                                // models that route, key and policy allow
	calledAt    map[string]string                       // end of the URL at which a model is called; nil: any
	refused     []uint64                                // error statuses that the request itself justifies
	mayName     []string                                // models that a settle may name although they were not called
	disconnects bool                                    // the client may disconnect at any point
	tamper      func(e *abi.Event, out *abi.StepOutput) // injects a bug into the machine; nil: none
	bare        bool                                    // the host has no memory
	unshared    bool                                    // the host has no stores that isolates share
	slow        bool                                    // the host replies to nothing immediately
	clock       bool                                    // the clock advances with timeouts and timers, except ticks
	shared      []byte                                  // the isolate's shared state
	meanwhile   []byte                                  // at any point, this shared state may replace the isolate's; nil: none
	counts      bool                                    // if the request was not served, the isolate continues to run and counts the request
	pinned      []byte                                  // the key's entry at the start
	neighbors   []neighbor                              // other exchanges of the isolate that use the key
	flown       *flown                                  // data that leaders of shared flights publish; nil: the flights have no other exchanges
	governed    bool                                    // the Governor checks the texts, and marked texts must not leave
	classifier  string                                  // the model of the project's classifier
	violation   string                                  // the violation of every admitted request; "": none
	maxKept     int                                     // bytes of one unfinished event; allowed in addition to maxState
}

// deployment is a configuration of the gateway.
type deployment struct {
	name    string
	catalog string
	env     []abi.Header
}

// alphabet lists the possible replies to actions. They are listed by the action's meaning ("admit reserve", "stream",
// "cache", …).
type alphabet map[string][]choice

type choice struct {
	name    string
	event   abi.Event
	reply   func(command any) []byte // computes an object's reply; nil: the event's data
	when    func(command any) bool   // restricts the choice to some commands; nil: all
	clean   bool                     // a provider's complete, clean 200
	script  *script                  // a stream follows this head
	times   int                      // maximum uses on one path; 0: no limit
	meaning string                   // of its alphabet
}

// script is a provider's stream. It may end or fail at any point.
type script struct {
	name   string
	pieces []piece
	faults []uint64
	noEnd  bool // it cannot end early
	bad    bool // the stream is not a valid response
}

type piece struct {
	name string
	data []byte
	ends bool // the response is complete and clean after this piece
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

// unused returns choices that the scenario adds to the alphabet but never uses.
func (s *scenario) unused() (names []string) {
	for meaning, choices := range s.added {
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
