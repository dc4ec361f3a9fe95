package governor

// Characters returns the number of Unicode code points in UTF-8 text. It counts the bytes that start a code point.
// Therefore, the pieces of a text may be counted separately, even if a cut is inside a code point.
func Characters(text []byte) (n uint64) {
	for _, b := range text {
		if b&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// TooLong returns the finding for a direction whose texts have too many characters in all. If the settings allow that
// number, ok is false. The finding has no position.
func (p *Policy) TooLong(d Direction, characters uint64) (f Finding, ok bool) {
	if p.settings == nil {
		return f, false
	}
	most, rule := p.settings.MaxInput, RuleLengthInput
	if d == Output {
		most, rule = p.settings.MaxOutput, RuleLengthOutput
	}
	return Finding{Rule: rule}, most != 0 && characters > most
}
