package lease

import (
	"github.com/postern-ai/postern/core/keymeter"
)

// View is the content of an encoded entry, for code other than exchanges, such as a simulation.
type View struct {
	ID         uint64 // of the lease; 0: none
	Version    uint64 // of the key record under which the lease was granted
	LastMs     uint64 // of the last change
	Requests   []keymeter.Leased
	RequestIDs []string // of the settlements of registered requests
}

// Look decodes an entry. It returns the requests and settlements that the meter has not confirmed.
func Look(data []byte) (v View) {
	e := Decode(data)
	v = View{ID: e.id, Version: e.version, LastMs: e.lastMs}
	requests, settles := e.Unreported()
	v.Requests = requests
	for _, encoded := range settles {
		if s, err := keymeter.DecodeSettle(encoded); err == nil {
			v.RequestIDs = append(v.RequestIDs, s.RequestID)
		}
	}
	return v
}

// Unreported returns the requests and settles that the meter has not confirmed, for code other than exchanges, such
// as a simulation.
func (e *Entry) Unreported() (requests []keymeter.Leased, settles [][]byte) {
	if r, err := keymeter.DecodeReport(e.flight.command); err == nil {
		requests, settles = r.Requests, r.Settles
	}
	return e.done.appendTo(appendOpen(requests, e.open)), append(settles, e.ended...)
}
