package governor

// Work counts the steps that the operator's patterns have taken in the texts of one request or one response. A step is
// one position in a program at one code point. The same texts and settings always take the same number of steps. The
// zero value is the count before the first text.
type Work uint64

// MaxWork is the work budget of a request or response, in steps. In V8, these steps take about a tenth of a second. A
// pattern that begins with a literal takes less than one step for each byte of ordinary text.
const MaxWork Work = 1 << 23

// Spent reports whether the budget is spent. The patterns then find nothing more, and exempt nothing.
func (w Work) Spent() bool { return w >= MaxWork }

// Count lets w count the steps of the scanners with these rules. Without Count, the rules have a count of their own.
func (r *Rules) Count(w *Work) { r.work = w }

// Count does the same for a scanner's rules.
func (s *Scanner) Count(w *Work) { s.rules.Count(w) }

// PatternRules returns the rules of the patterns. If their budget is spent, a match of any of them may be missed.
func (p *Policy) PatternRules() (rules []ID) {
	if p.settings == nil {
		return nil
	}
	for i := range p.settings.Patterns {
		rules = append(rules, p.patternRule(i))
	}
	return rules
}
