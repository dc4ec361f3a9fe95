package lease

// room is what requests that wait for the lease wait for.
type room struct {
	requests uint64 // how many more requests like the last one the lease admits
	commands uint64 // the number of commands whose replies may bring more
}

func (e *Entry) room() (r room) {
	if e.askedMs != 0 {
		r.commands++
	}
	if e.InFlight() {
		r.commands++
	}
	if !e.live() || e.full() || e.typical > 0 && e.short() {
		return r
	}
	r.requests = min(e.requests-min(e.requests, e.taken), e.slots-min(e.slots, e.inProgress()))
	if e.typical > 0 {
		r.requests = min(r.requests, uint64(max(0, e.freePico())/e.typical))
	}
	return r
}

// All is the number of exchanges to wake if all should continue.
const All = 1 << 32

// Freed returns how many of the exchanges that wait for the lease should try again, because of what has changed since
// the entry was decoded: as many as the lease has more room for. If a command for the lease has ended, at least one
// should, which then sends the next command. The others continue to wait for its reply.
func (e *Entry) Freed() uint64 {
	now := e.room()
	more := now.requests - min(now.requests, e.before.requests)
	if now.commands < e.before.commands {
		more = max(more, 1)
	}
	return more
}
