package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

const (
	maxAnswerBytes = 8 << 20  // of a provider's whole answer
	chunkBytes     = 64 << 10 // of a streamed one, at a time
)

// clientClosed is what the log says of a caller that left before it had an answer.
var clientClosed = fault.Fault{Status: 499, Code: "client_closed_request", Text: "Client closed request"}

// supplied takes a buffer that this exchange asked for.
func (x *exchange) supplied() {
	switch {
	case x.s.bad != 0:
		x.refuseBad()
	case x.s.lookup == lookupHit:
		x.respondHit()
	case x.s.stream.over:
		x.finishStream(x.event.Data)
	case x.s.route == routeModels || x.s.route == routeModel:
		x.models()
	case x.s.route == routeEmbeddings:
		x.sendEmbeddings(x.event.Data)
	case x.testMode() || x.model().Provider.Wire == "mock":
		x.mockAnswer()
	default:
		x.translate(x.event.Data)
	}
}

// dispatch sends the request to the first target that can take it.
func (x *exchange) dispatch() {
	switch {
	case x.testMode():
		x.settleOnMock()
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferBody})
	case !x.settleOnTarget():
		x.refuseUnready()
	default:
		x.attempt()
	}
}

// settleOnMock moves on to the first target that the key may use: in test mode that is the one that "answers".
func (x *exchange) settleOnMock() {
	s := &x.s
	for int(s.at) < len(s.order)-1 && !x.permits(x.target()) {
		s.at++
	}
}

const noProviderRetryMs = 30_000

// refuseUnready says why no target can be asked: none has credentials, or none can carry the request.
func (x *exchange) refuseUnready() {
	for i := range x.s.order {
		x.s.at = uint64(i)
		if x.ready(x.target()) && x.permits(x.target()) {
			x.refuseUnfit()
			return
		}
	}
	// Only the operator can help, which takes longer than a client's retries.
	x.refuse(fault.NoProvider, refusal{retryMs: noProviderRetryMs, noRetry: true})
}

// refuseUnfit names what the targets lack.
func (x *exchange) refuseUnfit() {
	lacks := x.lacks()
	if !x.s.strict {
		lacks &= chat.Content
	}
	x.refuse(fault.InvalidRequest, refusal{noRetry: true, details: []fault.Detail{
		{Field: string(lacks.AppendNames(nil)), Message: "cannot be carried by the model"},
	}})
}

// settleOnTarget moves on to a target with credentials that carries the request and does not rest; if all
// rest, to one that does.
func (x *exchange) settleOnTarget() bool {
	s := &x.s
	resting := len(s.order)
	for at := int(s.at); at < len(s.order); at++ {
		s.at = uint64(at)
		if !x.ready(x.target()) || !x.permits(x.target()) || !x.fits() {
			continue
		}
		if !x.resting() {
			return true
		}
		resting = min(resting, at)
	}
	s.at = uint64(resting)
	return resting < len(s.order)
}

// resting says whether the present target is to be left alone for a while.
func (x *exchange) resting() bool { return x.circuits.Resting(x.model().Name, x.owned(), x.now) }

// carries is what the present target has a place for.
func (x *exchange) carries() chat.Params {
	model := x.model()
	f, ok := provider.For(model.Provider.Wire)
	if !ok {
		return chat.All
	}
	carries := f.Carries &^ model.Provider.Drops &^ model.Drops
	if f.Direct != nil && f.Dialect == x.family().Members && x.s.request.params&^carries == chat.ParamForeign {
		carries |= chat.ParamForeign // the body goes as it came
	}
	return carries
}

// lacks is what the request asks for and the present target has no place for.
func (x *exchange) lacks() chat.Params { return x.s.request.params &^ x.carries() }

// fits says whether the present target may get the request: what it lacks may be left out, but for content,
// and unless the caller forbade it.
func (x *exchange) fits() bool {
	lacks := x.lacks()
	return lacks&chat.Content == 0 && !(x.s.strict && lacks&^x.s.request.defaulted != 0)
}

// attempt sends the request to the present target. A caller that has left gets no further attempt: the
// first one goes on to its end, because the provider bills it anyway and its answer can be cached.
func (x *exchange) attempt() {
	s := &x.s
	if s.left {
		x.refuse(clientClosed, refusal{})
		return
	}
	if x.unseal() {
		return
	}
	model, lacks := x.model(), x.lacks()
	f, ok := provider.For(model.Provider.Wire)
	s.dropped = string((lacks &^ s.request.defaulted).AppendNames(nil))
	if !ok || s.route == routeEmbeddings || lacks != 0 || f.Direct == nil || f.Dialect != x.family().Members {
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferBody})
		return
	}
	r := chat.Request{Dialect: f.Dialect, MaxTokens: s.request.maxTokens, N: s.request.n, Stream: s.request.stream}
	x.fetch(f.Direct(x.wireCall(&r), abi.Part{Buffer: bufferMembers}))
}

func (x *exchange) wireCall(r *chat.Request) *wire.Call {
	return &wire.Call{Model: x.keyed(x.model()), Request: r, NowMs: x.now, Beta: x.s.beta}
}

// translate sends the request to a target of another dialect, or one that does not take all of it.
func (x *exchange) translate(body []byte) {
	s := &x.s
	f, _ := provider.For(x.model().Provider.Wire)
	r := x.reread(body)
	r.Drop(x.carries())
	if r.Dialect != f.Dialect && len(r.Extra) > 0 {
		if s.strict {
			x.next(fault.InvalidRequest, refusal{noRetry: true, details: extraDetails(r.Extra)})
			return
		}
		s.dropped = appendExtra(s.dropped, r.Extra)
	}
	request := f.Request(x.wireCall(&r))
	if request.URL == "" {
		x.next(fault.InvalidRequest, refusal{noRetry: true})
		return
	}
	x.fetch(request)
}

const (
	maxExtraNames = 16
	maxDropped    = 512
)

// appendExtra adds the names of members that our form has no place for. They come from the caller, and go
// into a header.
func appendExtra(dropped string, extra []chat.Member) string {
	for i, m := range extra {
		if i == maxExtraNames || len(dropped)+len(m.Name) > maxDropped {
			break
		}
		if !isWord(m.Name) {
			continue
		}
		if dropped != "" {
			dropped += ","
		}
		dropped += m.Name
	}
	return dropped
}

func isWord(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c != '_' && c != '.' && c != '-' && !(c|0x20 >= 'a' && c|0x20 <= 'z') && !(c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

func extraDetails(extra []chat.Member) (details []fault.Detail) {
	for i, m := range extra {
		if i < maxExtraNames {
			details = append(details, fault.Detail{Field: m.Name, Message: "cannot be carried by the model"})
		}
	}
	return details
}

// fetch makes the call.
func (x *exchange) fetch(request abi.Action) {
	s := &x.s
	s.attempts++
	s.policy.secret = "" // it is in the request now
	s.times.upstreamStart = x.now
	s.stream = stream{opened: s.stream.opened, asked: s.request.stream}
	request.Kind, request.ID, request.Buffer, request.Limit = abi.ActionFetch, idFetch, bufferUpstream, maxAnswerBytes
	if s.request.stream {
		request.Stream, request.Limit = 200, chunkBytes
	}
	request.Timeouts = x.config.TimeoutsOf(x.tier())
	x.circuits.Try(&x.config.Routing, x.model().Name, x.owned(), x.now)
	x.do(request)
}
