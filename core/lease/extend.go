package lease

import (
	"slices"

	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// Standing is the relation of a request to the meter.
type Standing uint8

const (
	Unregistered Standing = iota // only the entry knows the request
	Registering                  // a report that contains the request is in flight
	Registered                   // the meter has the request's reservation
)

// Extend raises the reservation of a request to a total, if the lease has enough budget. Otherwise it returns the
// request's standing.
func (e *Entry) Extend(now uint64, requestID string, totalPico int64) (standing Standing, done bool) {
	ok := e.tick(now)
	i := e.find(requestID)
	if i < 0 {
		if e.inFlight(requestID) {
			return Registering, false
		}
		return Registered, false
	}
	l := *e.open[i]
	more := totalPico - l.AmountPico
	if !ok || !e.live() || e.freePico() < more {
		return Unregistered, false
	}
	l.AmountPico, e.usedPico = totalPico, money.Add(e.usedPico, more)
	e.open[i] = &l
	return Unregistered, true
}

func (e *Entry) inFlight(requestID string) bool {
	if e.flight.open == 0 {
		return false
	}
	r, err := keymeter.DecodeReport(e.flight.command)
	return err == nil && slices.ContainsFunc(r.Requests, func(l keymeter.Leased) bool { return l.RequestID == requestID })
}
