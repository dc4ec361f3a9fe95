package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// plan is a world before it runs: everything that shrinking can take away is an element of a list. A run draws its
// delays from the seeds of the items, so that without one item the others stay as they were.
type plan struct {
	Seed     uint64        `json:"seed"`
	Start    uint64        `json:"start"` // Unix milliseconds
	Faults   faults        `json:"faults,omitzero"`
	Delay    string        `json:"delay,omitempty"` // how long calls travel: "" not at all, short, long
	Isolates int           `json:"isolates"`
	Projects []projectPlan `json:"projects"`
	Keys     []keyPlan     `json:"keys"`
	Items    []item        `json:"items"`
}

// faults says which classes are on. A plan without any is under pressure only, and judged most strictly.
type faults struct {
	Calls    bool `json:"calls,omitempty"`    // calls to objects and their replies are lost, or come twice
	Late     bool `json:"late,omitempty"`     // the second of two may run when its exchange is over
	Overload bool `json:"overload,omitempty"` // objects say that they are overloaded
	Outbox   bool `json:"outbox,omitempty"`   // deliveries fail, or their confirmation is lost
	Alarms   bool `json:"alarms,omitempty"`   // alarms ring late
	Stale    bool `json:"stale,omitempty"`    // KV is a minute old
	Evict    bool `json:"evict,omitempty"`    // isolates forget
}

func (f faults) any() bool { return f != faults{} }

type projectPlan struct {
	Budget   int64  `json:"budget"` // picodollars
	Plan     string `json:"plan"`
	CacheTTL uint64 `json:"cacheTtl,omitempty"`
	Cycle    uint8  `json:"cycle,omitempty"` // a calendar.Cycle

	Unbounded bool `json:"unbounded,omitempty"`
	Alerts    bool `json:"alerts,omitempty"`
}

type keyPlan struct {
	Project   int      `json:"project"`
	Test      bool     `json:"test,omitempty"` // a development key
	Models    []string `json:"models,omitempty"`
	PerSecond uint64   `json:"perSecond,omitempty"`
}

// item is one thing that happens at a time after the start.
type item struct {
	At      uint64 `json:"at"`
	Do      string `json:"do"` // ask, kill, jump, kv, and an operator's: deactivate, activate, delete, budget, plan, policy, rotate
	Seed    uint64 `json:"seed,omitempty"`
	Key     int    `json:"key,omitempty"`
	Isolate int    `json:"isolate,omitempty"`
	Project int    `json:"project,omitempty"`

	// ask
	Path    string   `json:"path,omitempty"` // complete, chat, openai, responses, anthropic, embed, count, models, usage, health
	Model   string   `json:"model,omitempty"`
	Max     uint64   `json:"max,omitempty"`
	Stream  bool     `json:"stream,omitempty"`
	Prompt  uint64   `json:"prompt,omitempty"` // its number: one number, one prompt
	Words   uint64   `json:"words,omitempty"`  // that it has
	Times   int      `json:"times,omitempty"`  // so many of them
	Every   uint64   `json:"every,omitempty"`  // ms apart
	JSON    bool     `json:"json,omitempty"`   // the text must be JSON
	N       uint64   `json:"n,omitempty"`      // answers
	Think   uint64   `json:"think,omitempty"`  // tokens that the model may think
	Idem    string   `json:"idem,omitempty"`
	Cache   string   `json:"cache,omitempty"` // Cache-Control
	Bad     string   `json:"bad,omitempty"`   // body, key, type: what is wrong with the request
	Leave   uint64   `json:"leave,omitempty"` // ms after which the caller leaves
	Quiet   bool     `json:"quiet,omitempty"` // the host notices that only when it writes
	Answers []answer `json:"answers,omitempty"`

	// others
	Ms     int64    `json:"ms,omitempty"`     // jump: by how much; kv: for how long
	Amount int64    `json:"amount,omitempty"` // budget
	Name   string   `json:"name,omitempty"`   // plan
	Names  []string `json:"names,omitempty"`  // policy
}

// answer is what a provider does with one attempt. The last one repeats.
type answer struct {
	Status uint64 `json:"status,omitempty"` // 0: 200
	Ms     uint64 `json:"ms,omitempty"`     // until the head
	Out    uint64 `json:"out,omitempty"`    // tokens that the model would like to write
	Text   uint64 `json:"text,omitempty"`   // words of the answer that are seen; the rest is thinking
	In     uint64 `json:"in,omitempty"`     // the prompt's real tokens, in percent of the estimate; 0: 100
	Over   bool   `json:"over,omitempty"`   // longer than it was asked for
	Lie    string `json:"lie,omitempty"`    // usage: none, negative, absurd, fraction, text
	Fault  string `json:"fault,omitempty"`  // connect, head, byte, total, idle, cut, type, truncated, error
	After  uint64 `json:"after,omitempty"`  // chunks after which a stream's fault comes
	Retry  string `json:"retry,omitempty"`  // Retry-After
	Chunks uint64 `json:"chunks,omitempty"`
	Gap    uint64 `json:"gap,omitempty"` // ms between chunks
	Length bool   `json:"length,omitempty"`
	JSON   bool   `json:"json,omitempty"` // the text is JSON
	Cut    uint64 `json:"cut,omitempty"`  // a stream comes in pieces of so many bytes, wherever they fall
}

// text is the transcript of a plan: a line for the world, and one for each project, key and item.
func (p *plan) text() string {
	var b strings.Builder
	line := func(word string, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "%s %s\n", word, data)
	}
	head := *p
	head.Projects, head.Keys, head.Items = nil, nil, nil
	line("world", head)
	for _, v := range p.Projects {
		line("project", v)
	}
	for _, v := range p.Keys {
		line("key", v)
	}
	for _, v := range p.Items {
		line("item", v)
	}
	return b.String()
}

// parsePlan reads a transcript. Lines that begin with # are comments.
func parsePlan(text string) (*plan, error) {
	p := &plan{}
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		if word == "" || word[0] == '#' {
			continue
		}
		var err error
		switch word {
		case "world":
			err = strictly(rest, p)
		case "project":
			err = add(&p.Projects, rest)
		case "key":
			err = add(&p.Keys, rest)
		case "item":
			err = add(&p.Items, rest)
		default:
			err = fmt.Errorf("unknown word %q", word)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return p, nil
}

func strictly(text string, to any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

func add[T any](list *[]T, text string) error {
	var v T
	err := strictly(text, &v)
	*list = append(*list, v)
	return err
}
