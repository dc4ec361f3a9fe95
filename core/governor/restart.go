package governor

// Restart prepares the scanner for a new text. It keeps the rules and the memory.
func (s *Scanner) Restart() {
	*s = Scanner{rules: s.rules, scratch: s.scratch, machine: s.machine, whole: s.whole}
}
