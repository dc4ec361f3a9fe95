package ledger

import "github.com/postern-ai/postern/core/abi"

// command is a decoded command.
type command interface {
	message
	reads() []abi.Range // in addition to the budget
	apply(*call) error
}

func decodeCommand(data []byte) (command, error) {
	r := abi.Reader{Buf: data}
	op := r.Uint()
	switch {
	case op == abi.OpPosted:
		p, err := abi.DecodePosted(data)
		return &posted{p}, err
	case isAbsorb(op):
		c, err := DecodeAbsorb(data)
		return &batch{[]Absorb{c}}, err
	}
	c := newCommand(op)
	if c == nil {
		return nil, abi.ErrMalformed
	}
	c.fields(abi.ReadFrom(&r))
	return c, r.End()
}

func newCommand(op uint64) command {
	switch op {
	case opPut:
		return new(Put)
	case opReport:
		return new(Report)
	case opKeys:
		return new(Keys)
	case opBatch:
		return new(batch)
	case opPolicy:
		return policy{}
	case opQuery:
		return new(Query)
	case opPrune:
		return new(Prune)
	case opRecent:
		return new(Recent)
	case opGrant:
		return new(Grant)
	case opViolations:
		return new(Violations)
	case opViolation:
		return new(GetViolation)
	case opTriage:
		return new(Triage)
	case opEvents:
		return new(events)
	case opForget:
		return new(forget)
	case opCloseDay:
		return new(CloseDay)
	case opAnnounce:
		return new(Announce)
	}
	return newEndCommand(op)
}
