package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Open decodes a command for code that sits between an exchange and its meter, such as a simulation. It returns an
// *Admit, *Settle, *Extend, *Flush or *Report. It returns nil for other or malformed commands.
func Open(command []byte) any {
	r := abi.Reader{Buf: command}
	var opened message
	switch r.Uint() {
	case opAdmit:
		opened = &Admit{}
	case opSettle:
		opened = &Settle{}
	case opExtend:
		opened = &Extend{}
	case opFlush:
		opened = &Flush{}
	case opReport:
		opened = &Report{}
	default:
		return nil
	}
	if abi.DecodeFields(r.Buf, opened.fields) != nil {
		return nil
	}
	return opened
}

// Encode encodes the reply.
func (a *AdmitReply) Encode() []byte { return abi.EncodeFields(0, 128, a.fields) }

// Encode encodes the reply.
func (r *FlushReply) Encode() []byte { return abi.EncodeFields(0, 64, r.fields) }

// LeaseState is a lease in a meter, for code outside the meter, such as a simulation.
type LeaseState struct {
	ID         uint64
	EndMs      uint64 // allowance included
	Ended      bool
	Requests   uint64 // lent in total
	Reported   uint64
	AmountPico int64 // lent in total
	HeldPico   int64 // reserved
	Slots      uint64
}

// StateOf decodes the leases and the request IDs of the open reservations in a meter's row "h".
func StateOf(row []byte) (leases []LeaseState, requestIDs []string, err error) {
	m, err := decodeMeter(row)
	for i := range m.leases {
		l := &m.leases[i]
		leases = append(leases, LeaseState{l.id, l.endMs, l.ended, l.requests, l.taken, l.amountPico, l.heldPico, l.slots})
	}
	for i := range m.reservations {
		r := m.reservations[i].decode()
		requestIDs = append(requestIDs, string(r.id))
	}
	return leases, requestIDs, err
}

// LevelState is a meter's slice of one budget, for code outside the meter, such as a simulation.
type LevelState struct {
	Ledger                       string // empty: the project's
	Period                       calendar.Period
	Granted, Spent, ReservedPico int64
	Former                       bool // of a path that the key has left
}

// LevelsOf decodes the slices in a meter's row "h", and the number of incomplete reservations.
func LevelsOf(row []byte) (levels []LevelState, holds int, err error) {
	m, err := decodeMeter(row)
	for _, former := range [...]bool{false, true} {
		list := m.chain.Levels
		if former {
			list = m.chain.Former
		}
		for i := range list {
			s := &list[i].Slice
			levels = append(levels, LevelState{list[i].Ledger, s.Period, s.Granted, s.Spent, s.Reserved, former})
		}
	}
	return levels, len(m.chain.Holds), err
}
