package governor

// fileEndings lists endings of files that look like the last label of a domain: logo@2x.png.
var fileEndings = []string{"png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "css", "js", "mjs", "ts", "tsx", "json", "yaml", "yml", "html", "htm", "txt", "go", "java", "tar", "gz", "exe", "log", "lock", "local"}

// email looks for an email address. Its local part is the word [start, end), before '@'. Its domain is an IPv4
// address in brackets, or a name. The last label of the name has only letters or begins with xn--. A quoted local
// part is not recognized. Source: RFC 5321, section 4.1.2.
func (s *Scanner) email(v *view, start, end int) (next int, ok bool) {
	if end-start > 64 || class[v.text[end-1]]&isJoint != 0 && v.text[end-1] == '.' {
		return 0, false
	}
	for i := start + 1; i < end; i++ {
		if v.text[i] == '.' && v.text[i-1] == '.' {
			return 0, false
		}
	}
	if v.at(end+1) == '[' { // user@[192.0.2.1]
		if _, last := quad(v, end+2); last > 0 && v.at(last) == ']' {
			return s.emit(v, ruleEmail, start, last+1)
		}
		return 0, false
	}
	last, label := domain(v, end+1)
	if last == 0 || label == end+1 || v.at(last) == '@' || !topLevel(v.text[label:last]) {
		return 0, false
	}
	if equalFold("git", v.text[start:end]) && v.at(last) == ':' {
		return 0, false // a repository
	}
	return s.emit(v, ruleEmail, start, last)
}

// domain returns the end of the domain at start and the start of its last label. If there is no domain, the end is 0.
// The other labels may contain letters beyond ASCII.
func domain(v *view, start int) (last, label int) {
	label = start
	accent := 0 // index of the label's first letter beyond ASCII
	for i := start; i < start+255; i++ {
		b := v.at(i)
		if isAlnum(b) || b == '-' && i > label {
			continue
		}
		if next := v.at(i + 1); b >= 0xc3 && b < 0xef && b != 0xe2 && next&0xc0 == 0x80 && (b != 0xe3 || next != 0x80) { // no punctuation
			if accent == 0 {
				accent = i
			}
			if i++; b >= 0xe0 {
				i++
			}
			continue
		}
		if i == label {
			break
		}
		last = i
		if b != '.' || !isAlnum(v.at(i+1)) {
			break
		}
		label, accent = i+1, 0
	}
	if accent > label {
		last = accent
	}
	if last < label {
		return 0, label // no domain, or one that is too long
	}
	return last, label
}

func topLevel(label []byte) bool {
	if len(label) < 2 || len(label) > 24 {
		return false
	}
	for _, ending := range fileEndings {
		if equalFold(ending, label) {
			return false
		}
	}
	if len(label) > 4 && equalFold("xn--", label[:4]) {
		return true
	}
	for _, b := range label {
		if !isLetterByte(b) {
			return false
		}
	}
	return true
}
