package ledger

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// Violation is one finding that an exchange reports. The text with the finding was reviewed or blocked, or it was
// redacted by a rule of high severity. A violation never includes the text itself.
type Violation struct {
	AtMs      uint64 // time of the finding
	RequestID string
	Rule      string // such as "secret.github-token", or the name of a keyword list or pattern
	Category  string
	Severity  string
	Decision  string // "review", "block" or "redact"
	Output    bool   // in a response; false: in a request
	Model     string // the requested model, or the one that responded
	Path      string // place of the text in the JSON body, such as messages[2].content[0].text
	Start     uint64 // UTF-8 offsets in the decoded text
	End       uint64
	Risk      uint64 // the request's or response's risk score, 0 to 100
	Policy    uint64 // version of the project's policy
	MAC       string // HMAC of the match, hexadecimal; the same for equal values; empty without a master key
	Excerpt   string // the last two characters of a match in category personal; otherwise empty
	Count     uint64 // findings of this rule in the exchange
}

// ViolationFields lists the fields of a violation.
func ViolationFields(f *abi.Fields, v *Violation) {
	f.Uint(&v.AtMs)
	f.String(&v.RequestID)
	f.String(&v.Rule)
	f.String(&v.Category)
	f.String(&v.Severity)
	f.String(&v.Decision)
	f.Bool(&v.Output)
	f.String(&v.Model)
	f.String(&v.Path)
	f.Uint(&v.Start)
	f.Uint(&v.End)
	f.Uint(&v.Risk)
	f.Uint(&v.Policy)
	f.String(&v.MAC)
	f.String(&v.Excerpt)
	f.Uint(&v.Count)
}

// MoreRule is the rule name of all violations beyond MaxMinuteRules.
const MoreRule = "(more)"

// MaxMinuteRules is the number of rules that get their own row per key and minute. All further rules of that minute
// share one row, with the rule MoreRule.
const MaxMinuteRules = 64

// ViolationGroup combines the violations of one key and rule within a minute. AtMs is the time of the last one, Count
// is their number, Risk is the highest risk, and Decision is the strongest decision. The other fields are those of
// the last one.
type ViolationGroup struct {
	FirstMs uint64
	Violation
}

// ViolationGroupFields lists the fields of a group.
func ViolationGroupFields(f *abi.Fields, g *ViolationGroup) {
	f.Uint(&g.FirstMs)
	ViolationFields(f, &g.Violation)
}

// Merge adds a later violation or group of violations of the same key, rule and minute.
func (g *ViolationGroup) Merge(later *Violation) {
	count, risk, decision, at := g.Count+later.Count, max(g.Risk, later.Risk), g.Decision, max(g.AtMs, later.AtMs)
	if decisionRank(later.Decision) > decisionRank(decision) {
		decision = later.Decision
	}
	g.Violation = *later
	g.Count, g.Risk, g.Decision, g.AtMs = count, risk, decision, at
}

// Decisions and severities, with the strongest last.
var (
	Decisions  = []string{"redact", "review", "block"}
	Severities = []string{"low", "medium", "high", "critical"}
)

func decisionRank(decision string) int { return slices.Index(Decisions, decision) }

func severityRank(severity string) int { return slices.Index(Severities, severity) }
