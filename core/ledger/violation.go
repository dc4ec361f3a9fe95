package ledger

import "github.com/postern-ai/postern/core/abi"

// Violation is one finding that an exchange reports: of a reviewed or blocked text, or redacted by a rule of high
// severity. It never includes the text.
type Violation struct {
	AtMs      uint64 // time of the finding
	RequestID string
	Rule      string // such as "secret.github-token", or the name of a keyword list or pattern
	Category  string
	Severity  string
	Decision  string // "review", "block" or "redact"
	Output    bool   // in a response; false: in a request
	Model     string // requested model, or the one that responded
	Path      string // place of the text in the JSON body, such as messages[2].content[0].text
	Start     uint64 // UTF-8 offsets in the decoded text
	End       uint64
	Risk      uint64 // the request's or response's risk score, 0 to 100
	Policy    uint64 // version of the project's policy
	MAC       string // HMAC of the match, hexadecimal: repeats of one value have the same; empty without a master key
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
