package lease

import "github.com/postern-ai/postern/core/keymeter"

// View is the content of an encoded entry, for code beside the exchanges, such as a simulation.
type View struct {
	ID         uint64 // of the lease; 0: none
	Version    uint64 // of the key record under which it was granted
	LastMs     uint64 // of the last change
	Requests   []keymeter.Leased
	RequestIDs []string // of the settlements of registered requests
}

// Look decodes what an entry holds that the meter has not confirmed.
func Look(data []byte) (v View) {
	e := Decode(data)
	v = View{ID: e.id, Version: e.version, LastMs: e.lastMs, Requests: e.open}
	settles := e.ended
	if r, err := keymeter.DecodeReport(e.flight.command); err == nil {
		v.Requests = append(r.Requests, v.Requests...)
		settles = append(r.Settles, settles...)
	}
	for _, encoded := range settles {
		if s, err := keymeter.DecodeSettle(encoded); err == nil {
			v.RequestIDs = append(v.RequestIDs, s.RequestID)
		}
	}
	return v
}
