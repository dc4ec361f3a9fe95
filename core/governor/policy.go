package governor

// Action says what a policy does about a finding.
type Action uint8

const (
	Allow  Action = iota // nothing
	Flag                 // adds to the risk
	Redact               // replaces the finding with a placeholder
	Block                // refuses the request or ends the response
)

// String returns the action's name in the API.
func (a Action) String() string { return [...]string{"allow", "flag", "redact", "block"}[a] }

// Direction is the side of the gateway that a text comes from.
type Direction uint8

const (
	Input  Direction = iota // from the caller
	Output                  // from the model
	System                  // from the caller: a system text or the definition of a tool
	directions
)

// Decision is the result for a request or a response.
type Decision uint8

const (
	Approve  Decision = iota
	Review            // the request or response passes, and a violation is recorded as open
	Rejected          // it is blocked
)

// String returns the decision's name in the API.
func (d Decision) String() string { return [...]string{"approve", "review", "block"}[d] }

// DefaultAutoApprove is the highest risk score that passes without review.
const DefaultAutoApprove = 30

// Policy contains compiled settings: the action of every rule in each direction, and the lists and patterns to search
// for.
type Policy struct {
	Strict      bool                 // block instead of review
	AutoApprove int                  // the highest risk that is approved, 0 to 100
	tables      *[directions]actions // by direction; &defaults until the first change
	settings    *Settings            // for the names of lists and patterns; may be nil
}

// actions contains the action of every rule. It also has the set of rules whose action is not Allow.
type actions struct {
	of      [MaxRules]Action
	enabled ruleSet
}

func (t *actions) set(rule ID, a Action) {
	t.of[rule] = a
	if t.enabled.remove(rule); a != Allow {
		t.enabled.add(rule)
	}
}

// defaults contains the actions that apply if there are no settings. Policies share defaults, because every step of a
// stream creates a policy.
var defaults = defaultActions()

func defaultActions() (t [directions]actions) {
	for i := range table {
		a := defaultAction(table[i].Category)
		t[Input].set(ID(i), a)
		t[Output].set(ID(i), a)
	}
	t[Input].set(RuleSchema, Allow) // the rule applies only to responses
	t[Input].set(RuleUnchecked, Allow)
	t[Output].set(RuleUnchecked, Allow)
	t[System] = t[Input]
	return t
}

// defaultAction returns the action of a category's rules if there are no settings. Secrets are redacted, lengths
// above the limit are blocked, and everything else is flagged.
func defaultAction(c Category) Action {
	switch c {
	case Secret:
		return Redact
	case Length:
		return Block
	}
	return Flag
}

// NewPolicy returns a policy with the defaults and without lists or patterns.
func NewPolicy() *Policy {
	return &Policy{AutoApprove: DefaultAutoApprove, tables: &defaults}
}

// Policy compiles the settings. The policy keeps references to them.
func (s *Settings) Policy() *Policy {
	p := NewPolicy()
	p.Strict, p.AutoApprove, p.settings = s.Strict, int(s.AutoApprove), s
	if s.BlockUnchecked {
		p.set(RuleUnchecked, Block, Block, 0)
	}
	for i := range s.Actions {
		p.overrideCategory(&s.Actions[i])
	}
	at := 0
	for i := range s.Actions {
		at = p.overrideRule(&s.Actions[i], at)
	}
	p.set(RuleSchema, Allow, s.Schema.Action, 0)
	for i := range s.Lists {
		p.set(listRule(i), s.Lists[i].Input, s.Lists[i].Output, s.Lists[i].System)
	}
	for i := range s.Patterns {
		p.set(p.patternRule(i), s.Patterns[i].Input, s.Patterns[i].Output, s.Patterns[i].System)
	}
	return p
}

func (p *Policy) set(rule ID, input, output Action, system Override) {
	p.Set(Input, rule, input)
	p.Set(Output, rule, output)
	p.Set(System, rule, system.Of(input))
}

// Roles reports whether the actions for system texts differ from the actions for the other texts of a request.
func (p *Policy) Roles() bool { return p.tables[Input].of != p.tables[System].of }

// overrideCategory applies an override to all rules of a category. If the override does not name a category, it does
// nothing.
func (p *Policy) overrideCategory(a *RuleActions) {
	for c := range Categories {
		if c.String() != a.Rule {
			continue
		}
		for i := range table {
			if table[i].Category == c {
				p.set(ID(i), a.Input, a.Output, a.System)
			}
		}
	}
}

// overrideRule applies an override to a rule. If the override does not name a rule, it does nothing. The search
// begins at the index at. next is where the search for the next override should begin, because Encode sorts overrides
// by rule.
func (p *Policy) overrideRule(a *RuleActions, at int) (next int) {
	for range table {
		if at >= len(table) {
			at = 0
		}
		if table[at].Name == a.Rule {
			p.set(ID(at), a.Input, a.Output, a.System)
			return at + 1
		}
		at++
	}
	return at
}

func listRule(i int) ID { return ID(len(table) + i) }

func (p *Policy) patternRule(i int) ID { return ID(len(table) + len(p.settings.Lists) + i) }

// Rule describes a rule of the table, or the rule of a list or pattern in the settings. If there is no such rule, the
// name is empty.
func (p *Policy) Rule(id ID) (name string, category Category, severity Severity) {
	i := int(id)
	if id == RuleSchema && p.settings != nil {
		return table[i].Name, table[i].Category, p.settings.Schema.Severity
	}
	if i < len(table) {
		return table[i].Name, table[i].Category, table[i].Severity
	}
	i -= len(table)
	if p.settings == nil {
		return "", Keyword, Low
	}
	if i < len(p.settings.Lists) {
		l := &p.settings.Lists[i]
		return Keyword.String() + "." + l.Name, Keyword, l.Severity
	}
	if i -= len(p.settings.Lists); i < len(p.settings.Patterns) {
		l := &p.settings.Patterns[i]
		return CustomPattern.String() + "." + l.Name, CustomPattern, l.Severity
	}
	return "", Keyword, Low
}

// Set changes a rule's action in one direction. If the direction is input, Set also changes the action for system
// texts. Therefore, set the action for system texts last.
func (p *Policy) Set(d Direction, rule ID, a Action) {
	if d == Input {
		p.Set(System, rule, a)
	}
	if p.tables[d].of[rule] == a {
		return
	}
	if p.tables == &defaults {
		own := defaults
		p.tables = &own
	}
	p.tables[d].set(rule, a)
}

// Action returns a rule's action in one direction.
func (p *Policy) Action(d Direction, rule ID) Action {
	if rule >= MaxRules {
		return Allow
	}
	return p.tables[d].of[rule]
}

// Tighten makes the policy stricter if a caller's request asks for it: it turns on strict mode or lowers the
// threshold. It never loosens the policy.
func (p *Policy) Tighten(strict bool, autoApprove int) {
	p.Strict = p.Strict || strict
	p.AutoApprove = max(0, min(p.AutoApprove, autoApprove))
}

// Rules returns the rules to scan with in one direction. These are all rules whose action is not Allow.
func (p *Policy) Rules(d Direction) *Rules {
	r := &Rules{enabled: p.tables[d].enabled}
	if p.settings != nil {
		r.settings, r.Work = p.settings, new(Work)
		r.exempts = p.settings.AgentAddresses || len(p.settings.Exemptions) > 0
		r.keywords = loadKeywords(p.settings, r)
		r.patterns = loadPatterns(p, r)
	}
	return r
}
