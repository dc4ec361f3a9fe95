package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/cached"
	"github.com/postern-ai/postern/core/fault"
)

// follow waits for the response of the flight that the admitted exchange follows. The wait ends with the time limit
// that all attempts of a request share.
func (x *exchange) follow() {
	s := &x.s
	if s.disconnected {
		x.abandonFlight()
		return
	}
	x.enter(phaseFollow)
	s.flight.lastMs = x.now
	if s.dispatchMs == 0 {
		s.dispatchMs = x.now
	}
	if s.flight.kept {
		s.flight.kept = false
		x.supply(idBuffer, bufferFlight)
		return
	}
	x.wait(idTimer, max(1, x.remainingMs()))
	x.awaitFlight()
}

func (x *exchange) awaitFlight() { x.await(abi.Action{Kind: abi.ActionFollow, ID: idFollow}) }

// onFlight handles the part that the leader has published, or the end of the flight.
func (x *exchange) onFlight() {
	x.s.flight.lastMs = x.now
	switch x.event.Code {
	case abi.FlightMore:
		x.followMore()
	case abi.FlightLanded:
		x.onLanded()
	default:
		x.onFlightFailed()
	}
}

// followMore forwards the published part of a stream to the caller, in the form of a cached response's stream.
func (x *exchange) followMore() {
	data, st := x.event.Data, &x.s.stream
	if !x.s.flight.began {
		rest, ok := x.startFollowing(data)
		if !ok {
			x.goAlone()
			return
		}
		x.cancel(idTimer)
		x.openFollowed()
		data = rest
	}
	deltas, err := chat.ReadDeltas(data)
	if err != nil {
		x.land(abi.FlightFailed, nil)
		x.refuse(fault.ProviderAnswer, sharedFailure(fault.ProviderAnswer))
		return
	}
	m, out := x.streamMeta(), []byte(nil)
	for i := range deltas {
		if deltas[i].Kind == chat.DeltaUsage {
			st.usage, m.Usage = deltas[i].Usage, deltas[i].Usage
		}
		out = x.family().Stream(out, &st.api, &deltas[i], &m)
	}
	if x.family().NeedsWhole {
		x.appendDeltas(data)
	}
	if len(out) > 0 {
		st.sentSinceTick = true
		x.sendPart(abi.Part{Data: out})
	}
	x.awaitFlight()
}

// startFollowing reads the head of a published stream. If the exchange must not use the stream, ok is false.
func (x *exchange) startFollowing(data []byte) (rest []byte, ok bool) {
	r := abi.Reader{Buf: data}
	provider, model, dropped := r.String(), r.String(), r.String()
	if r.Err() != nil || !x.mayUse(model) {
		return nil, false
	}
	x.s.flight.began = true
	x.s.hit, x.s.dropped = hit{found: true, provider: provider, model: model}, dropped
	return r.Buf, true
}

func (x *exchange) openFollowed() {
	s := &x.s
	s.stream.opened, s.stream.hasContent, s.responded = true, true, true
	m := x.streamMeta()
	trapEvent := x.family().StreamError(nil, &api.State{Started: true}, x.trapError(), &m)
	headers := x.answerHeaders(&answer{provider: s.hit.provider, model: s.hit.model, cached: true})
	x.do(abi.Action{Kind: abi.ActionOpen, Code: 200, Headers: x.allHeaders(headers), Data: trapEvent})
	x.startTicking()
}

// goAlone leaves the flight and sends the request to a provider.
func (x *exchange) goAlone() {
	x.land(abi.FlightRetry, nil)
	x.cancel(idTimer)
	x.s.hit = hit{}
	x.dispatch()
}

// onLanded completes the caller's response with the flight's response.
func (x *exchange) onLanded() {
	data, began := x.event.Data, x.s.flight.began
	x.s.flight = flight{failures: x.s.flight.failures}
	x.cancel(idTimer)
	if !began {
		if x.useHit(data); x.s.hit.found {
			x.respondHit()
		} else {
			x.goAlone()
		}
		return
	}
	e, ok := cached.Decode(data)
	if !ok {
		x.refuse(fault.ProviderAnswer, sharedFailure(fault.ProviderAnswer))
		return
	}
	x.s.stream.usage = e.Usage
	x.cancel(idTick)
	if x.family().NeedsWhole {
		x.enter(phaseFollowEnd)
		x.supply(idBuffer, bufferDeltas)
		return
	}
	x.endFollowed(nil)
}

// onFollowedDeltas ends the stream of a family that puts the complete response into the last event.
func (x *exchange) onFollowedDeltas() { x.endFollowed(x.event.Data) }

func (x *exchange) endFollowed(encoded []byte) {
	var whole *chat.Response
	if deltas, err := chat.ReadDeltas(encoded); len(encoded) > 0 && err == nil {
		r := chat.Fold(deltas)
		whole = &r
	}
	m := x.streamMeta()
	end := x.family().End(nil, &x.s.stream.api, whole, &m)
	x.servedFromCache(abi.Part{Data: end})
}

// To start over after a failure, a follower must have at least 1/againDivisor of the request's time limit left. With
// less time, it might lead the next flight without waiting long enough for a response. It would then pay for nothing,
// and new followers would fail with it.
const againDivisor = 4

// onFlightFailed starts over if the caller has not received anything. The first follower to start over leads the next
// flight. If the caller's stream is open, the caller gets an error event.
func (x *exchange) onFlightFailed() {
	f := &x.s.flight
	began, code := f.began, x.event.Code
	*f = flight{failures: f.failures}
	x.cancel(idTimer)
	if code == abi.FlightFailed {
		f.failures++
	}
	switch {
	case began:
		x.breakFollowed()
	case code == abi.FlightAlone:
		x.goAlone()
	case f.failures == maxFlightFailures, code == abi.FlightFailed && x.remainingMs() < x.config.RequestMsOf(x.tier())/againDivisor:
		x.refuseFollowed()
	default:
		x.enter(phaseRejoin)
		x.join(x.cacheEntryKey())
	}
}

// breakFollowed ends an open stream with the leader's error. If the error concerns only the leader's key or caller,
// such as an exceeded budget, this request may succeed if it is repeated.
func (x *exchange) breakFollowed() {
	f, ok := fault.SharedByCode(x.event.Data)
	if !ok {
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	x.refuse(f, sharedFailure(f))
}

// refuseFollowed refuses a request whose flights have failed too often. If the last leader failed because of its own
// key, there is no outage, and the exchange sends the request itself.
func (x *exchange) refuseFollowed() {
	f, ok := fault.SharedByCode(x.event.Data)
	switch {
	case ok:
		x.refuse(f, sharedFailure(f))
	case len(x.event.Data) > 0:
		x.goAlone()
	default: // the leader has died
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

// onRejoin sets the exchange's role in the next flight. If it leads, it sends the request, which is already admitted.
func (x *exchange) onRejoin() {
	x.noteCacheResult()
	switch {
	case !x.joinedFlight():
	case x.s.hit.found:
		x.respondHit()
	case x.s.flight.role == follows:
		x.follow()
	default:
		x.dispatch()
	}
}

// onFollowTimeout refuses the request because its time limit has passed.
func (x *exchange) onFollowTimeout() { x.refuse(fault.ProviderTimeout, refusal{}) }

// onFollowTick sends a keep-alive comment if nothing was sent since the last tick. If the leader has stopped sending,
// it ends the stream.
func (x *exchange) onFollowTick() {
	st := &x.s.stream
	if idle := x.config.TimeoutsOf(x.tier()).IdleMs; idle > 0 && x.since(x.s.flight.lastMs) > idle+tickMs {
		x.refuse(fault.ProviderTimeout, refusal{})
		return
	}
	if !st.sentSinceTick {
		x.sendPart(abi.Part{Data: keepAlive})
	}
	st.sentSinceTick = false
	x.startTicking()
}

// abandonFlight leaves the flight because the client has disconnected.
func (x *exchange) abandonFlight() {
	x.s.disconnected = true
	x.land(abi.FlightRetry, nil)
	x.refuseClosed()
}
