package exchange

import (
	"crypto/sha256"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
)

// maxFlightFailures is the number of failed flights after which a follower gets the error.
const maxFlightFailures = 2

// maxPublishedBytes limits the size of a stream in bytes. If the stream has followers, its publication continues
// beyond maxEntryBytes up to this limit.
const maxPublishedBytes = 4 << 20

// joins reports whether the exchange shares its response with identical requests. It does not share a response that
// depends on more than the request, such as an Idempotency-Key, a classifier, or values that a stream would have to
// restore.
func (x *exchange) joins() bool {
	s := &x.s
	restores := x.streams() && s.govern.rewritten
	return s.idempotency == "" && !x.testMode() && !s.govern.classification.wanted && !restores && !x.isStoredInPart(false)
}

// flightName identifies requests that may share a response. It contains the cache entry's key, and facts on which the
// entry does not depend. For example, a key with another plan might be refused a model that the leader's key can use.
func (x *exchange) flightName() string {
	name := x.cacheEntryKey()
	if x.streams() {
		name += "/stream"
	}
	w := abi.Writer{}
	w.String(x.s.record.Plan)
	w.Bool(x.s.govern.on)
	for _, model := range x.s.record.Models {
		w.String(model)
	}
	for i := range x.s.record.Restrictions {
		for _, model := range x.s.record.Restrictions[i].Models {
			w.String(model)
		}
	}
	sum := sha256.Sum256(w.Buf)
	return name + "/" + keys.Hex(sum[:8])
}

// join looks up the response in memory. If the response is not there, join joins the flight. If key is empty, there
// is no lookup.
func (x *exchange) join(key string) {
	x.await(abi.Action{Kind: abi.ActionJoin, ID: idMemory, Key: key, Name: x.flightName(), Where: x.sharedStores()})
}

// joinedFlight sets the exchange's role from the result of the lookup in memory. If the response in memory is not
// valid for the exchange, joinedFlight joins the flight without a lookup and returns false.
func (x *exchange) joinedFlight() bool {
	f := &x.s.flight
	switch {
	case x.event.Code == abi.OutcomeJoined:
		*f = flight{role: follows, failures: f.failures}
	case !x.joins() || x.s.hit.found:
	case x.event.Code == abi.OutcomeOK:
		x.join("")
		return false
	default:
		*f = flight{role: leads, failures: f.failures}
	}
	return true
}

// land ends the exchange's part in its flight, if it has one. If no follower is waiting, land sends no data. Later
// requests find the response in memory.
func (x *exchange) land(code uint64, data []byte) {
	f := &x.s.flight
	if f.role == noFlight {
		return
	}
	x.cancel(idFollow)
	if f.role == leads && code == abi.FlightLanded && x.waiting == 0 && !f.began {
		code, data = abi.FlightRetry, nil
	}
	*f = flight{failures: f.failures}
	x.do(abi.Action{Kind: abi.ActionLand, Code: code, Data: data})
}

// landAnswer ends the flight with the provider's response. If the leader's own limits may have cut the response
// short, it is not shared.
func (x *exchange) landAnswer(a *answer, raw bool, body []byte) {
	if x.s.flight.role != leads {
		return
	}
	if !a.storable && x.s.imposedMaxTokens > 0 || len(body) > maxEntryBytes || x.isStoredInPart(raw) {
		x.land(abi.FlightAlone, nil)
		return
	}
	var data []byte
	if x.waiting > 0 || x.s.flight.began {
		e := x.newEntry(a, raw, body)
		if x.s.flight.began {
			e.Body = nil
		}
		data = e.Encode()
	}
	x.land(abi.FlightLanded, data)
}

func (x *exchange) failFlight(f fault.Fault) {
	if !f.Shared() && (f == fault.ClientClosed || x.s.attempts == 0) {
		x.land(abi.FlightRetry, nil)
	}
	var code []byte
	if f != fault.None {
		code = []byte(f.Code())
	}
	x.land(abi.FlightFailed, code)
}

// publish publishes a stream's deltas to the flight's followers. It is called once the stream can no longer fall back
// to another target. From then on, everything appended to the buffer of deltas becomes part of the flight.
func (x *exchange) publish() {
	f, st := &x.s.flight, &x.s.stream
	if f.role != leads || !st.committed {
		return
	}
	if !f.began {
		f.began = true
		model := x.model()
		x.do(abi.Action{
			Kind: abi.ActionPublish, Buffer: bufferDeltas, Limit: maxEntryBytes,
			Body: []abi.Part{{Data: flightHead(model.Provider.Name, model.Name, x.s.dropped)}},
		})
	}
	if st.deltaBytes > maxPublishedBytes || st.deltaBytes > maxEntryBytes && x.waiting == 0 {
		x.land(abi.FlightAlone, nil)
	}
}

func flightHead(provider, model, dropped string) []byte {
	var w abi.Writer
	w.String(provider)
	w.String(model)
	w.String(dropped)
	return w.Buf
}

// heldUp reports whether the stream continues for its followers after its own caller has disconnected.
func (x *exchange) heldUp() bool { return x.s.flight.role == leads && x.waiting > 0 }

// collectsForFlight reports whether deltas are published although the stream is too large for a cache entry.
func (x *exchange) collectsForFlight() bool { return x.heldUp() && x.s.flight.began }
