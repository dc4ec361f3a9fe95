package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/route"
)

const (
	maxAnswerBytes = 8 << 20  // of a provider's whole answer
	chunkBytes     = 64 << 10 // of a streamed one, at a time
)

// clientClosed is what the log says of a caller that left before it had an answer.
var clientClosed = fault.Fault{Status: 499, Code: "client_closed_request", Text: "Client closed request"}

// dispatch sends the request to the first target that can take it.
func (x *exchange) dispatch() {
	x.s.dispatchMs = x.now
	switch {
	case x.testMode():
		x.mockTarget()
		x.askMock()
	case !x.chooseTarget():
		x.refuseUnready()
	default:
		x.attempt()
	}
}

const noProviderRetryMs = 30_000

// refuseUnready says why no target can be asked: none has credentials, or none can carry the request.
func (x *exchange) refuseUnready() {
	for i := range x.s.order {
		x.s.at = uint64(i)
		if x.present().Usable() {
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
		x.unsupported(string(lacks.AppendNames(nil))),
	}})
}

// unsupported is the problem that the present target does not support a field of the request.
func (x *exchange) unsupported(field string) fault.Detail {
	return fault.Detail{Field: field, Message: "is not supported by " + x.model().Name + "; omit it or use another model"}
}

// remainingMs is what is left of the time that all attempts have together, until a whole answer or the first
// content of a stream.
func (x *exchange) remainingMs() uint64 {
	total := x.config.RequestMsOf(x.tier())
	return total - min(total, x.since(x.s.dispatchMs))
}

// attempt sends the request to the present target. A caller that has left gets no further attempt: the
// first one goes on to its end, because the provider bills it anyway and its answer can be cached.
func (x *exchange) attempt() {
	s := &x.s
	switch {
	case s.left:
		x.refuse(clientClosed, refusal{})
		return
	case x.remainingMs() == 0:
		x.refuse(fault.ProviderTimeout, refusal{})
		return
	case x.unseal():
		x.enter(phaseUnseal)
		return
	}
	model, lacks := x.model(), x.lacks()
	if model.Provider.Wire == mockProvider {
		x.askMock()
		return
	}
	f, _ := provider.For(model.Provider.Wire)
	s.dropped = string((lacks &^ s.request.defaulted).AppendNames(nil))
	s.limit = x.limitTokens(model)
	if s.endpoint == endpointEmbeddings || lacks != 0 || f.Direct == nil || f.Dialect != x.family().Members {
		x.enter(phaseBuild)
		x.ask(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferBody})
		return
	}
	r := chat.Request{Dialect: f.Dialect, MaxTokens: x.maxTokens(), N: s.request.n, Stream: s.request.stream}
	x.fetch(f.Direct(x.wireCall(&r), abi.Part{Buffer: bufferMembers}))
}

// maxTokens is the limit that the target gets: the caller's, else what was reserved.
func (x *exchange) maxTokens() uint64 { return max(x.s.request.maxTokens, x.s.limit) }

func (x *exchange) wireCall(r *chat.Request) *wire.Call {
	return &wire.Call{Model: x.keyed(x.model()), Request: r, NowMs: x.now, Beta: x.s.beta}
}

// takeUnsealed goes on with the attempt. A key that does not open is the operator's to mend; the next target may
// do without.
func (x *exchange) takeUnsealed() {
	if !x.takeSecret() {
		x.tell("sealed")
		x.next(fault.NoProvider, refusal{retryMs: noProviderRetryMs})
		return
	}
	x.attempt()
}

// build writes the request anew, for a target of another dialect or one that does not take all of it.
func (x *exchange) build() {
	if x.s.endpoint == endpointEmbeddings {
		x.sendEmbeddings(x.event.Data)
		return
	}
	s := &x.s
	f, _ := provider.For(x.model().Provider.Wire)
	r := x.reread(x.event.Data)
	r.MaxTokens = x.maxTokens()
	r.Drop(x.carries())
	if r.Dialect != f.Dialect && len(r.Extra) > 0 {
		if s.strict {
			x.next(fault.InvalidRequest, refusal{noRetry: true, details: x.extraDetails(r.Extra)})
			return
		}
		s.dropped = appendExtra(s.dropped, r.Extra)
	}
	request := f.Request(x.wireCall(&r))
	if request.URL == "" {
		x.next(fault.InvalidRequest, refusal{noRetry: true, details: []fault.Detail{
			{Field: "body", Message: "cannot be translated for " + x.model().Name + "; use another model"},
		}})
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

func (x *exchange) extraDetails(extra []chat.Member) (details []fault.Detail) {
	for i, m := range extra {
		if i < maxExtraNames {
			details = append(details, x.unsupported(m.Name))
		}
	}
	return details
}

// fetch makes the call. No phase of it that comes before content outlives the time of all attempts.
func (x *exchange) fetch(request abi.Action) {
	s := &x.s
	s.attempts++
	s.asked = uint64(x.target()) + 1
	s.secret = "" // it is in the request now
	s.times.upstreamStart = x.now
	s.stream = stream{opened: s.stream.opened}
	request.Kind, request.ID, request.Buffer, request.Limit = abi.ActionFetch, idFetch, bufferUpstream, maxAnswerBytes
	t := x.config.TimeoutsOf(x.tier())
	remaining := x.remainingMs()
	t.HeadMs, t.FirstByteMs = min(t.HeadMs, remaining), min(t.FirstByteMs, remaining)
	if s.request.stream {
		request.Stream, request.Limit = 200, chunkBytes
		x.enter(phaseOpening)
	} else {
		t.TotalMs = min(t.TotalMs, remaining)
		x.enter(phaseWhole)
	}
	request.Timeouts = t
	x.circuits.Try(&x.config.Routing, x.model().Name, x.owned(), x.now)
	x.ask(request)
}

// takeResponse takes a provider's whole answer, whatever its status.
func (x *exchange) takeResponse() {
	x.s.times.upstream += x.since(x.s.times.upstreamStart)
	x.tell(strconv.FormatUint(x.event.Code, 10))
	if x.event.Code == 200 {
		x.takeAnswer()
		return
	}
	f, _ := provider.For(x.model().Provider.Wire)
	x.failed(f.Failure(x.event.Code, x.json()))
}

// failed goes on after a provider's error: with the same target, with another, or not at all.
func (x *exchange) failed(failure wire.Failure) {
	model := x.model()
	failure.Message = x.publicMessage(failure.Message)
	r := x.explained(&failure)
	r.retryMs = provider.RetryAfterMs(x.header("retry-after-ms"), x.header("retry-after"), x.now)
	switch failure.Kind {
	case wire.FailDown:
		x.circuits.Failed(&x.config.Routing, model.Name, x.now)
		x.retry(fault.ProviderError, r)
	case wire.FailBusy:
		x.refusedCredentials()
		x.retry(fault.ProviderBusy, r)
	case wire.FailTarget:
		x.refusedCredentials()
		x.next(fault.ProviderError, r)
	case wire.FailTooLong:
		x.next(x.rejectedAs(fault.TooLong), r.forGood(failure.Message))
	case wire.FailFiltered:
		x.refuse(x.rejectedAs(fault.Filtered), r.forGood(failure.Message))
	default:
		x.refuse(x.rejectedAs(fault.RejectedRequest), r.forGood(failure.Message))
	}
}

// refusedCredentials counts a failure that says nothing of the target for others' credentials.
func (x *exchange) refusedCredentials() {
	if !x.owned() {
		x.circuits.Refused(&x.config.Routing, x.model().Name, x.now)
	}
}

// rejectedAs is how the caller's family is told that the provider did not want the request. Our own says 502:
// its requests are checked, so that it is not the caller's fault.
func (x *exchange) rejectedAs(f fault.Fault) fault.Fault {
	if x.s.dialect == chat.Native {
		return fault.ProviderRejected
	}
	return f
}

// takeFault takes an attempt that brought no whole answer, and no stream's beginning.
func (x *exchange) takeFault() {
	s := &x.s
	s.times.upstream += x.since(s.times.upstreamStart)
	x.tell(faultWord(x.event.Code))
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	switch x.event.Code {
	case abi.FaultConnect, abi.FaultUndelivered:
		x.next(fault.ProviderError, refusal{})
	case abi.FaultBroken, abi.FaultTooLarge:
		x.bookUnknown()
		x.refuse(fault.ProviderAnswer, refusal{})
	default:
		x.bookUnknown()
		x.next(fault.ProviderTimeout, refusal{})
	}
}

func faultWord(code uint64) string {
	switch code {
	case abi.FaultConnect, abi.FaultUndelivered:
		return "unreachable"
	case abi.FaultBroken:
		return "broken"
	case abi.FaultTooLarge:
		return "too_large"
	}
	return "timeout"
}

// retry tries the same target again after a wait, if it may and the wait is not too long; else the next.
func (x *exchange) retry(f fault.Fault, r refusal) {
	s := &x.s
	wait, ok := route.BackoffMs(&x.config.Routing, s.retries, r.retryMs, x.random())
	if s.retries >= x.config.Routing.Retries || !ok || wait >= x.remainingMs() || x.resting() {
		x.next(f, r)
		return
	}
	s.retries++
	x.enter(phaseBackoff)
	x.ask(abi.Action{Kind: abi.ActionWait, ID: idTimer, KeepMs: wait})
}

// next falls back to the next target. If there is none, the caller gets the last target's error.
func (x *exchange) next(f fault.Fault, r refusal) {
	s := &x.s
	last := s.at
	s.at++
	s.retries, s.limit = 0, 0
	s.secret = "" // it was the last target's provider's
	if !x.chooseTarget() {
		s.at = last
		x.refuse(f, r)
		return
	}
	x.attempt()
}

const maxStory = 400

// tell adds to the story of the attempts: which target, and how its attempt ended.
func (x *exchange) tell(how string) {
	s := &x.s
	model := x.model()
	word := model.Provider.Name + "/" + model.Name + "=" + how
	if s.story != "" {
		word = ", " + word
	}
	if len(s.story)+len(word) <= maxStory {
		s.story += word
	}
}

// attemptsHeader is the number of attempts, and their story: "2; openai/gpt-4.1=503, gemini/gemini-3-flash=200".
func (x *exchange) attemptsHeader() string {
	n := strconv.FormatUint(x.s.attempts, 10)
	if x.s.story == "" {
		return n
	}
	return n + "; " + x.s.story
}

// noteLeft notes that nobody waits any more.
func (x *exchange) noteLeft() { x.s.left = true }

// abandon ends a request between two attempts: its caller is gone.
func (x *exchange) abandon() {
	x.s.left = true
	x.refuse(clientClosed, refusal{})
}
