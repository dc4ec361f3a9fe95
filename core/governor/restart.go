package governor

// Restart makes the scanner begin a new text, with the rules and the memory that it has.
func (s *Scanner) Restart() {
	*s = Scanner{rules: s.rules, scratch: s.scratch, machine: s.machine, whole: s.whole}
}
