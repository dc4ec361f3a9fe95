package governor

// Restart prepares the scanner for a new text. The scanner keeps its rules and reuses its memory.
func (s *Scanner) Restart() {
	*s = Scanner{rules: s.rules, scratch: s.scratch, machine: s.machine, whole: s.whole}
}
