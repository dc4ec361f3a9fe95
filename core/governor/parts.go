package governor

// plainParts returns the length of the word at the start of text if the word has several parts and needs no closer look:
// toAdmit, x.Close, end_of_line. It then has no digits, and none of its parts may be in the vocabulary. For such a word,
// isCommon returns true, or names does without noting anything. For other words, the length is 0. If isCommon returns
// false for the word, kinds says how to look at it; otherwise, kinds is 0.
//
//go:noinline
func plainParts(text []byte) (length int, kinds uint16) {
	run, mixed, joint := 0, false, false // the start of the run of letters
	if class[text[0]]&isJoint != 0 {
		if text[0] == '-' {
			return 0, isOdd
		}
		run, mixed, joint = 1, true, true
	}
	for p := run; p < minToken && len(text)-p >= 17; {
		t := text[p:]
		n := leading(t)
		end := p + n
		mixed = mixed || p > 0 && class[t[0]]&isUpper != 0
		switch {
		case n == 0 && !mixed && class[t[0]]&isJoint != 0:
			return 0, 0
		case n == 0 || end >= minToken:
			return 0, isOdd
		}
		after := class[t[n]]
		switch {
		case n > 1 && isLikely(t[:n]):
			if end > n || after&(isUpper|isJoint) != 0 {
				return 0, isOdd | isNamed
			}
			return 0, isOdd
		case after&isUpper != 0 && n == 1 && class[t[0]]&isUpper != 0:
			return 0, isOdd
		case after&isUpper != 0:
			p = end
			continue
		case likelyFrom(text, run, p, end):
			return 0, isOdd
		case after&isJoint != 0:
			joint = true
			end++
			p, run = end, end
			if after = class[t[n+1]]; after&inWord != 0 {
				continue
			}
		case mixed && n > len("key") && mayGlue(t[n-1]) && glued(t[:n]) != 0:
			return 0, isOdd
		}
		if !endsOdd(text, end, after, joint) {
			return end, 0
		}
		if !mixed {
			return 0, 0
		}
		break
	}
	return 0, isOdd
}

// leading returns the number of letters at the start of text, at most minToken. Only the first may be a capital.
func leading(text []byte) (n int) {
	if class[text[0]]&isUpper != 0 {
		n = 1
	}
	for n < minToken && class[text[n]]&isLower != 0 {
		n++
	}
	return n
}

// likelyFrom reports whether several parts of a run of letters may together be in the vocabulary. The run begins at run
// and ends at end. Its last part begins at last.
func likelyFrom(text []byte, run, last, end int) bool {
	for q := run; q < last; q++ {
		if (q == run || class[text[q]]&isUpper != 0) && isLikely(text[q:end]) {
			return true
		}
	}
	return false
}

// endsOdd reports whether the end of a word needs a closer look. after holds the classes of the byte behind it. joint is
// set if the word has a joint.
func endsOdd(text []byte, end int, after uint16, joint bool) bool {
	return after&(inWord|isEnding|isEqual) != 0 || joint && after&inToken != 0 || text[end] == ' ' && text[end+1] == '=' ||
		end <= 2 || end >= minToken || isInitials(text[:end])
}
