package governor

// Action is what a policy does with a finding.
type Action uint8

const (
	Allow  Action = iota // nothing
	Flag                 // adds to the risk
	Redact               // replaces the finding by a placeholder
	Block                // rejects the request or ends the response
)

// String is the action's name in the API.
func (a Action) String() string { return [...]string{"allow", "flag", "redact", "block"}[a] }

// Direction is the side of the gateway that a text comes from.
type Direction uint8

const (
	Input  Direction = iota // from the caller
	Output                  // from the model
)

// Decision is the result for a request or a response.
type Decision uint8

const (
	Approve  Decision = iota
	Review            // it passes; a violation is recorded as open
	Rejected          // it is blocked
)

// String is the decision's name in the API.
func (d Decision) String() string { return [...]string{"approve", "review", "block"}[d] }

// DefaultAutoApprove is the highest risk that is approved without review.
const DefaultAutoApprove = 30

// Policy is a project's settings for content.
type Policy struct {
	Strict      bool // block instead of review
	AutoApprove int  // the highest approved risk, 0 to 100
	actions     [2][]Action
}

// NewPolicy has the defaults: secrets are redacted; personal data, injection heuristics and keywords are flagged.
func NewPolicy() *Policy {
	p := &Policy{AutoApprove: DefaultAutoApprove}
	for d := range p.actions {
		p.actions[d] = make([]Action, len(table))
		for i := range table {
			p.actions[d][i] = Flag
			if table[i].Category == Secret {
				p.actions[d][i] = Redact
			}
		}
	}
	return p
}

// Set changes a rule's action in one direction.
func (p *Policy) Set(d Direction, rule ID, a Action) { p.actions[d][rule] = a }

// Action is a rule's action in one direction.
func (p *Policy) Action(d Direction, rule ID) Action { return p.actions[d][rule] }

// Tighten makes the policy stricter as a caller's request asks: strict mode on, or a lower threshold. It never loosens.
func (p *Policy) Tighten(strict bool, autoApprove int) {
	p.Strict = p.Strict || strict
	p.AutoApprove = max(0, min(p.AutoApprove, autoApprove))
}

// Rules is the rules that are not allowed in one direction, to scan with.
func (p *Policy) Rules(d Direction, keywords *Keywords) *Rules {
	r := &Rules{keywords: keywords}
	for i, a := range p.actions[d] {
		if a != Allow {
			r.Enable(ID(i))
		}
	}
	return r
}

// points is a finding's share of the risk by severity.
var points = [...]int{Low: 5, Medium: 20, High: 40, Critical: 100}

const (
	// MaxRisk is the highest risk.
	MaxRisk = 100
	// countedPerRule is how many findings of one rule count: many e-mail addresses are no greater risk than three.
	countedPerRule = 3
	// MaxListed is how many findings are listed; all are acted on.
	MaxListed = 100
)

// Tally sums up the findings of a request's or a response's texts. Its zero value has none.
//
// The risk is the sum of the points of all findings whose action is flag or block, at most 100: low 5, medium 20,
// high 40, critical 100, of each rule only the first three. Redacted findings do not count: they are not sent. Another
// finding never lowers the risk.
type Tally struct {
	Listed  []Finding // the first MaxListed
	Total   int
	Risk    int
	Blocked bool // a rule's own action is block
	Redact  bool // a finding must be redacted
	counts  []uint8
}

// Add counts findings of one text.
func (t *Tally) Add(p *Policy, d Direction, findings []Finding) {
	if t.counts == nil {
		t.counts = make([]uint8, len(table))
	}
	for _, f := range findings {
		action := p.actions[d][f.Rule]
		if action == Allow {
			continue
		}
		t.Total++
		if len(t.Listed) < MaxListed {
			t.Listed = append(t.Listed, f)
		}
		t.Blocked = t.Blocked || action == Block
		t.Redact = t.Redact || action == Redact
		if action != Redact && t.counts[f.Rule] < countedPerRule {
			t.counts[f.Rule]++
			t.Risk = min(MaxRisk, t.Risk+points[table[f.Rule].Severity])
		}
	}
}

// Decide is the decision: block for a rule's own block, or for a risk above the threshold in strict mode; otherwise
// review above the threshold and approve up to it.
func (t *Tally) Decide(p *Policy) Decision {
	switch {
	case t.Blocked, t.Risk > p.AutoApprove && p.Strict:
		return Rejected
	case t.Risk > p.AutoApprove:
		return Review
	}
	return Approve
}
