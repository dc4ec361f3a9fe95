package sim_test

// claim is the time in which a request asks for money: from its first call until it is admitted, or answered.
type claim struct{ from, until uint64 }

func (x *exchange) claims() {
	if c := &x.story.claim; c.from == 0 {
		c.from = x.w.now
	}
}

func (c *claim) end(now uint64) {
	if c.from != 0 && c.until == 0 {
		c.until = now
	}
}

// judgeBroke: 402 only if at some time since its arrival what was free could not cover the least that the request may
// reserve. What others asked for at that time, and then got, was not free.
func (x *exchange) judgeBroke() {
	if x.w.unsure(x) {
		return
	}
	s, p := &x.story, x.project
	least := int64(1) << 62
	for i := max(0, s.freeFrom); i < len(p.free) && p.free[i].at <= s.claim.until; i++ {
		at := max(p.free[i].at, s.arrivedAt)
		least = min(least, p.free[i].free-x.othersClaim(at))
	}
	for _, o := range x.w.exchanges { // claims begin between changes of what is free
		if c := o.story.claim; o.project == p && c.from >= s.arrivedAt && c.from <= s.claim.until {
			least = min(least, p.freeAt(c.from)-x.othersClaim(c.from))
		}
	}
	if s.least < 0 || least >= s.least {
		x.w.fail("I11 402", "%s is answered with 402: it may reserve as little as %d, and at least %d of %s were free all the time", x.id, s.least, least, p.id)
	}
}

// freeAt is what was free at the end of a time.
func (p *project) freeAt(at uint64) int64 {
	free := p.free[0].free
	for _, l := range p.free {
		if l.at <= at {
			free = l.free
		}
	}
	return free
}

// othersClaim is what other requests had asked for by a time and were given later.
func (x *exchange) othersClaim(at uint64) (sum int64) {
	for _, o := range x.w.exchanges {
		if c := o.story.claim; o != x && o.project == x.project && c.from != 0 && c.from <= at && at < c.until && o.story.resv != nil {
			sum += o.story.resv.first
		}
	}
	return sum
}
