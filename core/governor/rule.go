// Package governor finds secrets, personal data and injection attempts in text. It decides on a request according to
// its findings, and redacts findings. The package is pure: text in, findings out. Its running time is linear in the
// length of the text.
package governor

// Category is a group of rules.
type Category uint8

const (
	Secret        Category = iota // credentials: tokens, keys, passwords
	Personal                      // data about a person: identifiers, contact data, payment data
	Injection                     // heuristics for prompt injection; a finding proves nothing
	Keyword                       // words in the operator's lists
	CustomPattern                 // matches of the operator's regular expressions
	Length                        // more characters than the operator allows
	Schema                        // a response that does not satisfy the operator's JSON Schema
	Unchecked                     // content that cannot be read: images, audio, PDFs, tokens
	Classified                    // the verdict of a classifier
	Categories
)

// String returns the category's name in the API.
func (c Category) String() string {
	return [...]string{"secret", "personal", "injection", "keyword", "pattern", "length", "schema", "unchecked", "classifier"}[c]
}

// Severity says how much a finding adds to the risk score.
type Severity uint8

const (
	Low Severity = iota
	Medium
	High
	Critical
)

// String returns the severity's name in the API.
func (s Severity) String() string {
	return [...]string{"low", "medium", "high", "critical"}[s]
}

// ID is the index of a rule in the table of this build. The IDs from len(Table()) on belong to the settings: first
// the keyword lists, then the patterns. Stored data and the API use names instead of IDs.
type ID uint16

// MaxRules is greater than every ID.
const MaxRules = 384

// Rule is one kind of finding.
type Rule struct {
	Name     string // such as "secret.github-token"; stable
	Category Category
	Severity Severity
	// MaxLength limits a finding's length in bytes.
	MaxLength int
}

// Finding says which rule found something, and where in the text. It never contains the text itself.
type Finding struct {
	Rule       ID
	Start, End int // byte offsets in the whole text; End is exclusive
}

// Rules whose findings have no place in a text. The scanner does not add these findings; other code does.
const (
	RuleLengthInput  ID = iota // a request's texts have more than Settings.MaxInput characters
	RuleLengthOutput           // a response's texts have more than Settings.MaxOutput characters
	RuleSchema                 // a response does not satisfy Settings.Schema
	RuleUnchecked              // a request or response has content that cannot be read
	RuleClassifier             // the classifier's score reaches its threshold
	otherRules
)

// Rules with their own code. The rules of token formats come after them in the table: see token.go.
const (
	rulePrivateKey = otherRules + iota
	ruleJWT
	rulePasswordURL
	rulePassword
	ruleSecret
	ruleWIF
	ruleCard
	ruleIBAN
	ruleEmail
	rulePhone
	ruleIPv4
	ruleIPv6
	ruleMAC
	ruleBitcoin
	ruleEthereum
	ruleBirthDate
	ruleBankAccount
	ruleOverride
	ruleReveal
	ruleRole
	ruleDelimiter
	ruleSmuggle
	codeRules
)

var codeRule = [codeRules]Rule{
	RuleLengthInput:  {"length.input", Length, Medium, 0},
	RuleLengthOutput: {"length.output", Length, Medium, 0},
	RuleSchema:       {"schema.answer", Schema, Medium, 0},
	RuleUnchecked:    {"unchecked.content", Unchecked, Medium, 0},
	RuleClassifier:   {"classifier.verdict", Classified, High, 0},

	rulePrivateKey:  {"secret.private-key", Secret, Critical, maxPrivateKey},
	ruleJWT:         {"secret.jwt", Secret, High, maxJWT},
	rulePasswordURL: {"secret.url-password", Secret, High, maxURLPassword},
	rulePassword:    {"secret.password", Secret, High, maxValue},
	ruleSecret:      {"secret.generic", Secret, High, maxWord},
	ruleWIF:         {"secret.crypto-private-key", Secret, Critical, 112},
	ruleCard:        {"personal.payment-card", Personal, High, 23},
	ruleIBAN:        {"personal.iban", Personal, Medium, 42},
	ruleEmail:       {"personal.email", Personal, Low, maxEmail},
	rulePhone:       {"personal.phone", Personal, Low, maxPhone},
	ruleIPv4:        {"personal.ipv4", Personal, Low, 15},
	ruleIPv6:        {"personal.ipv6", Personal, Low, 62},
	ruleMAC:         {"personal.mac", Personal, Low, 23},
	ruleBitcoin:     {"personal.crypto-address", Personal, Medium, 108},
	ruleEthereum:    {"personal.ethereum-address", Personal, Medium, 42},
	ruleBirthDate:   {"personal.birth-date", Personal, Medium, maxDate},
	ruleBankAccount: {"personal.bank-account", Personal, Medium, 34},
	ruleOverride:    {"injection.override", Injection, Medium, maxPhrase},
	ruleReveal:      {"injection.reveal-prompt", Injection, Medium, maxPhrase},
	ruleRole:        {"injection.role-change", Injection, Medium, maxPhrase},
	ruleDelimiter:   {"injection.delimiter", Injection, Medium, 24},
	ruleSmuggle:     {"injection.concealment", Injection, Medium, maxPhrase},
}

// Table lists every rule. A rule's ID is its index in the list. The caller must not change the list.
func Table() []Rule { return table[:] }

// Lookup returns the ID of the rule with the given name.
func Lookup(name string) (id ID, ok bool) {
	for i := range table {
		if table[i].Name == name {
			return ID(i), true
		}
	}
	return 0, false
}

// Rules is the set of rules to apply, with the operator's keywords and patterns. The zero value applies no rules.
type Rules struct {
	enabled  ruleSet
	keywords *Keywords
	patterns *patterns
	settings *Settings // for the names of lists and patterns, and for exemptions; may be nil
	exempts  bool      // the settings have exemptions
	Work     *Work     // of the patterns, including those of exemptions; nil if there are no settings
}

// ruleSet has a bit for each rule.
type ruleSet [MaxRules / 64]uint64

func (s *ruleSet) add(id ID)      { s[id/64] |= 1 << (id % 64) }
func (s *ruleSet) remove(id ID)   { s[id/64] &^= 1 << (id % 64) }
func (s *ruleSet) has(id ID) bool { return s[id/64]>>(id%64)&1 == 1 }

// AllRules returns rules that apply the whole table.
func AllRules() *Rules {
	r := &Rules{}
	for i := range table {
		r.Enable(ID(i))
	}
	return r
}

// Enable adds a rule.
func (r *Rules) Enable(id ID) { r.enabled.add(id) }

// Disable removes a rule.
func (r *Rules) Disable(id ID) { r.enabled.remove(id) }

// Has reports whether a rule applies.
func (r *Rules) Has(id ID) bool { return r.enabled.has(id) }
