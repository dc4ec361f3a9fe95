package governor

// thread is a position in a program. The text from start leads to that position.
type thread struct {
	id      uint16 // the instruction's number among those of all programs
	program uint8
	start   int // index in the view
}

// threads is a set of threads in order of insertion. It has at most one thread for each instruction.
type threads struct {
	list  []thread
	place []uint16 // for each id, the index in list of its thread, if that thread has the id
}

func (t *threads) add(one thread) bool {
	at := int(t.place[one.id])
	if at < len(t.list) && t.list[at].id == one.id {
		return false
	}
	t.place[one.id] = uint16(len(t.list))
	t.list = append(t.list, one)
	return true
}

// machine is the memory of a search. It holds the best match so far and two sets of threads. The first set holds the
// threads that the last code point has led to. The second set holds the same threads and all threads that they reach
// without another code point. Threads are in order of their starts. Therefore, if two threads are at one instruction,
// the first has the earlier start.
type machine struct {
	pending, live threads
	stack         []uint16
	matched       bool
	program       uint8 // of the match
	start, end    int
}

func newMachine(total int) *machine {
	m := &machine{}
	m.pending.place, m.live.place = make([]uint16, total), make([]uint16, total)
	return m
}

// custom searches v for the operator's patterns, from s.customAt up to the index to. If matches overlap, the leftmost
// match wins, then the longest, then that of the first pattern. If flush is set, a match cannot extend past to.
// Otherwise, custom sets s.customAt to the offset before which no new match can begin. If the work budget is spent,
// custom finds nothing.
func (s *Scanner) custom(p *patterns, v *view, to int, flush bool) {
	for {
		from := s.customAt - s.base
		if *s.rules.Work >= MaxWork {
			s.customAt = max(s.customAt, s.base+to)
			return
		}
		if from < to {
			from = p.skip(v.text[:to], from)
			s.customAt = s.base + from
		}
		if from >= to {
			return
		}
		if s.machine == nil {
			s.machine = newMachine(p.total)
		}
		resume, wait := s.search(p, v, from, to, flush)
		s.customAt = s.base + resume
		if wait {
			return
		}
		s.matched(p, v)
	}
}

// matched turns a match into a finding. If the match is exempted, it is not a finding. In that case, the search for
// the other patterns begins again at the start of the match, because a match of another pattern may begin in it and
// end after it.
func (s *Scanner) matched(p *patterns, v *view) {
	m := s.machine
	if !m.matched || s.rules.inPlaceholder(v, m.start, m.end) {
		return
	}
	f := Finding{p.programs[m.program].rule, s.base + m.start, s.base + m.end}
	if s.rules.exempts {
		if exempt, _ := s.exempt(f.Rule, v.text[m.start:m.end]); exempt {
			if s.settled == nil {
				s.settled = &[MaxPatterns]int{}
			}
			s.settled[m.program], s.customAt = f.End, f.Start
			return
		}
	}
	s.found = append(s.found, f)
}

// search runs all programs from the index i. It stops when a match is certain, when no thread is left, or when a
// match would be longer than MaxMatch. It returns where the search continues. If the result depends on the bytes
// after to, wait is true. If the work budget is spent, there is no match.
func (s *Scanner) search(p *patterns, v *view, i, to int, flush bool) (resume int, wait bool) {
	m := s.machine
	m.pending.list, m.matched = m.pending.list[:0], false
	for {
		r, width := codePoint(v.text, i, to, flush)
		if width == 0 && !flush {
			return m.hold(i), true
		}
		s.reach(p, v, i, i < to)
		if *s.rules.Work += Work(len(m.live.list) + 1); *s.rules.Work >= MaxWork {
			m.matched = false
			return i, false
		}
		if len(m.live.list) == 0 || i == to {
			i += width
			break
		}
		if i+width-m.live.list[0].start > MaxMatch {
			break
		}
		m.step(p, r)
		i += width
	}
	if m.matched {
		return m.end, false
	}
	return i, false
}

// hold returns the earliest index at which a pending thread or the match began. If there is neither, it returns i.
func (m *machine) hold(i int) int {
	if m.matched {
		i = m.start
	}
	if len(m.pending.list) > 0 {
		i = min(i, m.pending.list[0].start)
	}
	return i
}

// step advances all threads by one code point. Threads that began after the match are dropped.
func (m *machine) step(p *patterns, r rune) {
	m.pending.list = m.pending.list[:0]
	for _, t := range m.live.list {
		if m.matched && t.start > m.start {
			break
		}
		one := &p.programs[t.program]
		if next, ok := one.consumes(int(t.id)-one.base, r); ok && next < one.count() {
			m.pending.add(thread{uint16(one.base + next), t.program, t.start})
		}
	}
}

// reach fills m.live with all threads that the pending threads reach at the index i without another code point. If
// begin is set, new matches may begin there.
func (s *Scanner) reach(p *patterns, v *view, i int, begin bool) {
	m := s.machine
	m.live.list = m.live.list[:0]
	holds := s.conditions(v, i)
	for _, t := range m.pending.list {
		m.follow(&p.programs[t.program], t, i, holds)
	}
	if !begin || m.matched || p.first[v.text[i]>>3]>>(v.text[i]&7)&1 == 0 {
		return
	}
	for n := range p.programs {
		if s.settled != nil && s.base+i < s.settled[n] {
			continue
		}
		if one := &p.programs[n]; one.first[v.text[i]>>3]>>(v.text[i]&7)&1 == 1 {
			m.follow(one, thread{uint16(one.base + one.start), uint8(n), i}, i, holds)
		}
	}
}

// conditions returns the OpAssert bits that hold at an index.
func (s *Scanner) conditions(v *view, i int) (holds int) {
	before, after := v.at(i-1), byte(0)
	if i < len(v.text) {
		after = v.text[i]
	} else {
		holds = endText | endLine // the search gets here only at the end of the whole text
	}
	if s.base+i == 0 {
		holds |= beginText | beginLine
	}
	if before == '\n' {
		holds |= beginLine
	}
	if after == '\n' {
		holds |= endLine
	}
	if isWordByte(before) != isWordByte(after) {
		return holds | wordBoundary
	}
	return holds | noWordBoundary
}

// follow adds a thread and all threads that it reaches at the index i without another code point. holds is the set of
// conditions that are true there.
func (m *machine) follow(one *program, t thread, i, holds int) {
	m.stack = append(m.stack[:0], t.id)
	for len(m.stack) > 0 {
		t.id = m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if !m.live.add(t) {
			continue
		}
		switch op, next, argument := one.instruction(int(t.id) - one.base); op {
		case OpMatch:
			m.match(t, i)
		case OpEither:
			if argument < one.count() {
				m.stack = append(m.stack, uint16(one.base+argument))
			}
			fallthrough
		case OpAssert:
			if next < one.count() && (op == OpEither || holds&argument == argument) {
				m.stack = append(m.stack, uint16(one.base+next))
			}
		}
	}
}

// match considers a match that ends at i. If it is better than the best match so far, it takes its place.
func (m *machine) match(t thread, i int) {
	better := !m.matched || t.start < m.start || t.start == m.start && (i > m.end || t.program < m.program)
	if i > t.start && better {
		m.matched, m.program, m.start, m.end = true, t.program, t.start, i
	}
}
