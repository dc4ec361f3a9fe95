package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/doc"
)

// plan is the input of a run. Everything that shrinking can remove is an element of a list. Delays come from the
// seeds of the items. If an item is removed, the others therefore do not change.
type plan struct {
	Seed     uint64        `json:"seed"`
	Start    uint64        `json:"start"` // Unix milliseconds
	Faults   faults        `json:"faults,omitzero"`
	Delay    string        `json:"delay,omitempty"` // latency of calls: short or long; "": no latency
	Isolates int           `json:"isolates"`
	Drift    bool          `json:"drift,omitempty"`  // clocks drift apart
	Cut      bool          `json:"cut,omitempty"`    // isolates cut off work 30 seconds after the response
	Groups   []groupPlan   `json:"groups,omitempty"` // the deployment first; none: there is no tree
	Projects []projectPlan `json:"projects"`
	Keys     []keyPlan     `json:"keys"`
	Items    []item        `json:"items"`
}

// faults selects the fault classes. If a plan has no faults, the rules are strictest.
type faults struct {
	Calls    bool `json:"calls,omitempty"`    // calls to objects and their replies are lost or duplicated
	Late     bool `json:"late,omitempty"`     // a duplicate of a call may run after the end of its exchange
	Overload bool `json:"overload,omitempty"` // objects report overload
	Outbox   bool `json:"outbox,omitempty"`   // deliveries fail or their confirmations are lost
	Alarms   bool `json:"alarms,omitempty"`   // alarms fire late
	Stale    bool `json:"stale,omitempty"`    // KV values are up to 90 seconds old
	Slow     bool `json:"slow,omitempty"`     // when a stream asks for more budget, the call is slow
	Evict    bool `json:"evict,omitempty"`    // isolates evict values from memory
}

func (f faults) any() bool { return f != faults{} }

func (p *plan) scope() doc.CacheScope {
	if p.Seed%2 == 0 {
		return doc.CacheGlobal
	}
	return doc.CacheColo
}

type projectPlan struct {
	Budget   int64  `json:"budget"` // picodollars
	Plan     string `json:"plan"`
	CacheTTL uint64 `json:"cacheTtl,omitempty"`
	Cycle    uint8  `json:"cycle,omitempty"` // a calendar.Cycle

	Unbounded bool `json:"unbounded,omitempty"`
	Alerts    bool `json:"alerts,omitempty"`
	Governed  bool `json:"governed,omitempty"` // the Governor is enabled (see worldGovernor)

	Group    int    `json:"group,omitempty"`    // an index; 0: directly below the deployment
	Requests uint64 `json:"requests,omitempty"` // per budget period; 0: no limit
	Tokens   uint64 `json:"tokens,omitempty"`
}

// groupPlan is a group, or the deployment itself.
type groupPlan struct {
	Parent    int   `json:"parent,omitempty"` // an index
	Budget    int64 `json:"budget,omitempty"` // picodollars
	Unlimited bool  `json:"unlimited,omitempty"`
	Cycle     uint8 `json:"cycle,omitempty"` // a calendar.Cycle

	Requests uint64 `json:"requests,omitempty"` // per budget period; 0: no limit
	Tokens   uint64 `json:"tokens,omitempty"`
}

type keyPlan struct {
	Project   int      `json:"project"`
	Test      bool     `json:"test,omitempty"` // a development key
	Models    []string `json:"models,omitempty"`
	PerSecond uint64   `json:"perSecond,omitempty"`
	Budget    int64    `json:"budget,omitempty"`   // its own, in picodollars; 0: none
	Requests  uint64   `json:"requests,omitempty"` // its own limits per budget period; 0: none
	Tokens    uint64   `json:"tokens,omitempty"`
	Cycle     uint8    `json:"cycle,omitempty"` // a calendar.Cycle, of the budget and these limits
}

// item is something that happens at a time after the start.
type item struct {
	At      uint64 `json:"at"`
	Do      string `json:"do"` // ask, kill, cut, jump, kv, or an operator's change (see operator)
	Seed    uint64 `json:"seed,omitempty"`
	Key     int    `json:"key,omitempty"`
	Isolate int    `json:"isolate,omitempty"`
	Project int    `json:"project,omitempty"`
	Group   int    `json:"group,omitempty"`

	// ask
	Path      string     `json:"path,omitempty"` // complete, chat, openai, responses, anthropic, embed, count, models, usage, health
	Model     string     `json:"model,omitempty"`
	Max       uint64     `json:"max,omitempty"`
	Stream    bool       `json:"stream,omitempty"`
	Prompt    uint64     `json:"prompt,omitempty"` // the prompt's number; equal numbers mean equal prompts
	Words     uint64     `json:"words,omitempty"`  // the prompt's length
	Times     int        `json:"times,omitempty"`  // number of repetitions
	Every     uint64     `json:"every,omitempty"`  // ms between repetitions
	JSON      bool       `json:"json,omitempty"`   // the text must be JSON
	N         uint64     `json:"n,omitempty"`      // number of choices
	Think     uint64     `json:"think,omitempty"`  // reasoning tokens
	Idem      string     `json:"idem,omitempty"`
	Rerun     bool       `json:"rerun,omitempty"` // if its outcome is unknown, it may run again
	Cache     string     `json:"cache,omitempty"` // Cache-Control
	Bad       string     `json:"bad,omitempty"`   // the request's defect: body, key, type or malformed
	Leave     uint64     `json:"leave,omitempty"` // ms until the client disconnects
	Quiet     bool       `json:"quiet,omitempty"` // the host notices the disconnect only when it writes
	Behaviors []behavior `json:"answers,omitempty"`

	// others
	Ms     int64    `json:"ms,omitempty"`     // jump: offset; kv: duration of the outage
	Amount int64    `json:"amount,omitempty"` // budget, groupbudget: picodollars; negative: none
	Name   string   `json:"name,omitempty"`   // plan
	Names  []string `json:"names,omitempty"`  // policy
}

// behavior is a provider's behavior in one attempt. The last one in a list is repeated.
type behavior struct {
	Status uint64 `json:"status,omitempty"` // 0: 200
	Ms     uint64 `json:"ms,omitempty"`     // ms until the head
	Out    uint64 `json:"out,omitempty"`    // tokens that the model writes if there is no limit
	Text   uint64 `json:"text,omitempty"`   // visible words; the rest is reasoning
	In     uint64 `json:"in,omitempty"`     // the prompt's real tokens, in percent of the estimate; 0: 100
	Cached uint64 `json:"cached,omitempty"` // part of the prompt that is read from the provider's cache, in percent
	Write  uint64 `json:"write,omitempty"`  // part of the prompt that is written to the provider's cache, in percent
	Over   bool   `json:"over,omitempty"`   // ignores the requested limit
	Lie    string `json:"lie,omitempty"`    // usage: none, negative, absurd, fraction, text
	Fault  string `json:"fault,omitempty"`  // connect, head, byte, total, idle, cut, type, truncated, error
	After  uint64 `json:"after,omitempty"`  // chunks before a stream's fault
	Retry  string `json:"retry,omitempty"`  // Retry-After
	Chunks uint64 `json:"chunks,omitempty"`
	Gap    uint64 `json:"gap,omitempty"` // ms between chunks
	Length bool   `json:"length,omitempty"`
	JSON   bool   `json:"json,omitempty"` // the text is JSON
	Cut    uint64 `json:"cut,omitempty"`  // chunk size in bytes; chunks need not end where events end
}

// text returns the plan as text: a line for the world, then a line for each group, project, key and item.
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
	head.Groups, head.Projects, head.Keys, head.Items = nil, nil, nil, nil
	line("world", head)
	for _, v := range p.Groups {
		line("group", v)
	}
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

// parsePlan parses a plan's text. Lines that begin with # are comments.
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
		case "group":
			err = add(&p.Groups, rest)
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
