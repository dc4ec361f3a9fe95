package governor

// Restart makes the scanner start a new text, and keeps its rules and memory.
func (s *Scanner) Restart() {
	*s = Scanner{rules: s.rules, scratch: s.scratch, machine: s.machine, whole: s.whole}
}
