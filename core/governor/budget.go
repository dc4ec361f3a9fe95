package governor

// Work counts the steps that the operator's patterns have taken in the texts of one request or one response. A step is
// one position in a program at one code point. The same texts and settings always take the same number of steps. The
// zero value is the count before the first text.
type Work uint64

// MaxWork is the work budget of a request or response, in steps. In V8, these steps take about a tenth of a second. A
// pattern that begins with a literal takes less than one step for each byte of ordinary text. When the budget is spent,
// the patterns find nothing more, and exempt nothing.
const MaxWork Work = 1 << 23

// Count lets w count the steps of the scanners with the same rules. Without Count, the rules have a count of their own.
func (s *Scanner) Count(w *Work) { s.rules.Work = w }

// Patterns returns the rules of the patterns: the first one, and the one after the last.
func (p *Policy) Patterns() (from, to ID) {
	if p.settings == nil {
		return 0, 0
	}
	from = p.patternRule(0)
	return from, from + ID(len(p.settings.Patterns))
}
