package governor

// Characters is the number of Unicode code points of UTF-8 text: its bytes that continue none. Pieces of a text may be
// counted separately, however they are cut.
func Characters(text []byte) (n uint64) {
	for _, b := range text {
		if b&0xc0 != 0x80 {
			n++
		}
	}
	return n
}

// TooLong is the finding for texts of a direction with a total number of characters; ok is false if the settings permit
// it. Its place is empty.
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
