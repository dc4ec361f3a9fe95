package governor

// isAmount reports whether the digits are a round number or two years. Examples: 10000000, 5 600 000, 2010-2020.
func (p *phoneNumber) isAmount() bool {
	zeros := 0
	for zeros < p.n && p.digits[p.n-1-zeros] == '0' {
		zeros++
	}
	if p.count == 1 {
		return zeros >= 5 && p.n <= 10 && p.digits[0] != '0'
	}
	if p.shape() == "44" {
		return p.seps == sepDash && isCentury(p.digits[0], p.digits[1]) && isCentury(p.digits[4], p.digits[5])
	}
	groups := p.n - int(p.groups[0])
	return zeros >= 3 && p.seps == sepSpace && p.groups[0] <= 3 && p.count >= 3 && groups == 3*(p.count-1) && p.groups[1] == 3
}

func isCentury(a, b byte) bool { return a == '1' && b >= '8' || a == '2' && b == '0' }
