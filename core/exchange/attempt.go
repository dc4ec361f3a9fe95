package exchange

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/route"
)

const (
	maxAnswerBytes = 8 << 20  // limit for a non-streaming provider response
	chunkBytes     = 64 << 10 // limit for one chunk of a stream
)

// dispatchClassified sends a request that need not wait for a classifier.
func (x *exchange) dispatchClassified() {
	if x.s.dispatchMs == 0 { // already set if the request followed a flight, because that time counts too
		x.s.dispatchMs = x.now
	}
	switch {
	case x.testMode():
		x.mockTarget()
		x.startMock()
	case !x.chooseTarget():
		x.refuseUnready()
	default:
		x.attempt()
	}
}

// attempt sends the request to the current target, unless the client has disconnected. If an attempt is in flight, a
// disconnect ends only a stream; see noteDisconnect and abandonStream.
func (x *exchange) attempt() {
	s := &x.s
	switch {
	case s.disconnected:
		x.refuse(fault.ClientClosed, refusal{})
		return
	case x.remainingMs() == 0:
		x.refuse(fault.ProviderTimeout, refusal{})
		return
	case x.unseal():
		x.enter(phaseUnseal)
		return
	}
	model, missing := x.model(), x.unsupportedParams()
	if model.Provider.Wire == mockProvider {
		x.startMock()
		return
	}
	f := x.wire()
	s.dropped = x.droppedParams(missing)
	s.imposedMaxTokens = x.imposedLimit(model)
	if x.endpoint.calls.rebuilds || missing != 0 || f.Direct == nil || f.Dialect != x.family().Members {
		x.enter(phaseBuild)
		x.supply(idBuffer, x.requestBuffer())
		return
	}
	r := x.directRequest(f.Dialect)
	x.fetch(f.Direct(x.wireCall(&r), abi.Part{Buffer: bufferMembers}))
}

func (x *exchange) wireCall(r *chat.Request) *wire.Call {
	return &wire.Call{Model: x.withOwnProviderKey(x.model()), Request: r, NowMs: x.now}
}

// onUnsealed continues the attempt with the decrypted key. If decryption failed, it falls back to the next target,
// because only the operator can fix this.
func (x *exchange) onUnsealed() {
	if !x.keepProviderKey() {
		x.noteAttempt("sealed")
		// A retry by the caller helps only if an earlier target has failed. That target may have recovered by then.
		x.next(fault.NoProvider, refusal{noRetry: x.s.attempts == 0, details: []fault.Detail{{Field: "model", Message: unready(x.current())}}})
		return
	}
	x.attempt()
}

// onBuildBody encodes the request if the target has another dialect or does not support all of the request's
// parameters.
func (x *exchange) onBuildBody() {
	x.endpoint.calls.build(x, x.event.Data)
}

func (x *exchange) sendCompletion(body []byte) {
	f := x.wire()
	if x.keepsBody() {
		x.sendFiltered(body)
		return
	}
	r, lost := x.translated(body)
	if len(lost) > 0 {
		x.next(fault.InvalidRequest, refusal{noRetry: true, details: x.extraDetails(lost)})
		return
	}
	call := x.wireCall(&r)
	detail := fault.Detail{Field: "messages", Message: "must contain a non-empty text for " + x.model().Name}
	var request abi.Action
	if !f.NoEmpty || hasContent(&r) {
		request = f.Request(call)
		detail = fault.Detail{Field: "body", Message: "cannot be translated for " + x.model().Name + "; use another model"}
	}
	if unsent := x.unsupportedDetails(call.Unsent); len(unsent) > 0 && x.s.strict {
		x.next(fault.InvalidRequest, refusal{noRetry: true, details: unsent})
		return
	}
	if request.URL == "" {
		x.next(fault.InvalidRequest, refusal{noRetry: true, details: []fault.Detail{detail}})
		return
	}
	x.s.dropped = reply.Names(x.s.dropped, x.droppedParams(call.Unsent))
	x.fetch(request)
}

// hasContent reports whether any message except a system message has non-empty text or other content.
func hasContent(r *chat.Request) bool {
	return slices.ContainsFunc(r.Messages, func(m chat.Message) bool {
		return m.Role != chat.System && slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind != chat.Text || p.Text != "" })
	})
}

// translated returns the request in the form for the current target. Parts that the target does not get are recorded
// as dropped. In strict mode, translated returns them as lost instead.
//
//go:noinline
func (x *exchange) translated(body []byte) (r chat.Request, lost []chat.Member) {
	r = x.reparse(body, x.isNative(x.model()))
	r.MaxTokens, r.ServiceTier = x.effectiveMaxTokens(), x.serviceTier(x.model())
	r.Drop(x.supportedParams())
	x.explainSchema(&r)
	lost = x.translate(&r)
	if x.s.strict {
		return r, lost
	}
	x.s.dropped = appendExtra(x.s.dropped, lost)
	return r, nil
}

// explainSchema adds the schema to the prompt for a model that cannot be constrained to a schema.
func (x *exchange) explainSchema(r *chat.Request) {
	if text := x.s.request.schema; text != "" && r.Format.Kind != chat.FormatSchema {
		prompt := chat.Part{Kind: chat.Text, Text: "Answer with JSON only, which matches this JSON Schema: " + jsontext.Escape(text)}
		r.Messages = append([]chat.Message{{Role: chat.System, Parts: []chat.Part{prompt}}}, r.Messages...)
	}
}

func (x *exchange) sendFiltered(body []byte) {
	f := x.wire()
	parsed := x.readRequest(&api.Parser{Native: true, Skim: true}, gjson.ParseBytes(body))
	r := x.directRequest(f.Dialect)
	x.fetch(f.Direct(x.wireCall(&r), abi.Part{Data: api.Filter(f.Dialect, parsed.Members, x.unsupportedParams())}))
}

// translate converts the request to the target's dialect. It returns the parts that the dialect does not have.
func (x *exchange) translate(r *chat.Request) []chat.Member {
	model := x.model()
	if x.isNative(model) && r.Dialect != chat.Native {
		return r.Omitted
	}
	to := x.wire().Dialect
	r.Translate()
	x.nameThinking(r)
	r.Carry(to, func(name string) bool { return slices.Contains(model.Provider.Takes, name) })
	if r.Dialect == to {
		return r.Omitted
	}
	return append(r.Omitted, r.Extra...)
}

// nameThinking reports thinking from earlier turns that the target cannot read. If it is already reported as an
// unsupported parameter, nameThinking does nothing.
func (x *exchange) nameThinking(r *chat.Request) {
	thinks := x.wire().Thinks
	if thinks == nil {
		return
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			if p.Kind != chat.Thinking && p.Kind != chat.Redacted || thinks(p) {
				continue
			}
			name := "thinking_of_others"
			if p.Kind == chat.Thinking && p.Signature == "" {
				name = "thinking"
			}
			if !strings.Contains(","+x.s.dropped+",", ","+name+",") {
				r.Omit(name)
			}
		}
	}
}

const (
	maxExtraNames = 16
	maxDropped    = 512
)

// appendExtra adds the names of fields that chat.Request does not have. The caller chose these names. A header
// contains them, so they are checked and limited in number. Brackets in a name enclose an index.
func appendExtra(dropped string, extra []chat.Member) string {
	for i, m := range extra {
		if i == maxExtraNames || len(dropped)+len(m.Name) > maxDropped {
			break
		}
		if !head.IsWord(strings.ReplaceAll(strings.ReplaceAll(m.Name, "[", ""), "]", "")) {
			continue
		}
		if dropped != "" {
			dropped += ","
		}
		dropped += m.Name
	}
	return dropped
}

func (x *exchange) extraDetails(extra []chat.Member) (details []fault.Detail) {
	for i, m := range extra {
		if i < maxExtraNames {
			details = append(details, x.unsupported(m.Name))
		}
	}
	return details
}

func (x *exchange) fetch(request abi.Action) {
	if x.streams() {
		x.fetchIn(phaseOpening, request)
	} else {
		x.fetchIn(phaseWhole, request)
	}
}

// fetchIn sends a request and waits for the response in phase p. Until the first content, no timeout is longer than
// the time that remains for all attempts together.
func (x *exchange) fetchIn(p phase, request abi.Action) {
	s := &x.s
	s.attempts++
	s.lastTarget = uint64(x.currentIndex()) + 1
	s.providerKey = "" // the request contains the key now
	s.times.upstreamStart = x.now
	s.stream = stream{opened: s.stream.opened}
	s.govern.live = live.Stream{}
	request.Kind, request.ID, request.Buffer, request.Limit = abi.ActionFetch, idFetch, bufferUpstream, maxAnswerBytes
	t := x.config.TimeoutsOf(x.tier())
	remaining := x.remainingMs()
	t.HeadMs, t.FirstByteMs = min(t.HeadMs, remaining), min(t.FirstByteMs, remaining)
	if x.streams() {
		request.Stream, request.Limit = 200, chunkBytes
	} else {
		t.TotalMs = min(t.TotalMs, remaining)
	}
	x.enter(p)
	x.pass(&request)
	request.Timeouts = t
	x.circuits.Try(&x.config.Routing, x.model().Name, x.usesOwnProviderKey(), x.now)
	x.await(request)
}

func (x *exchange) onResponse() {
	x.cancel(idTick)
	x.s.times.upstream += x.since(x.s.times.upstreamStart)
	x.noteAttempt(strconv.FormatUint(x.event.Code, 10))
	x.noteStatus(x.event.Code)
	if x.event.Code == 200 {
		x.endpoint.calls.read(x)
		return
	}
	f, root := x.wire(), x.json()
	failure := f.Failure(x.event.Code, root)
	x.noteProviderError(root, x.recordedText(failure.Message))
	x.onProviderError(failure)
}

// onProviderError handles a provider's error response. It retries the same target, falls back to the next one, or
// refuses the request.
func (x *exchange) onProviderError(failure wire.Failure) {
	failure.Message = x.publicMessage(failure.Message)
	r := x.providerRefusal(&failure)
	r.retryMs = provider.RetryAfterMs(x.header("retry-after-ms"), x.header("retry-after"), x.now)
	switch failure.Kind {
	case wire.FailDown:
		x.failCircuit()
		x.retry(fault.ProviderError, r)
	case wire.FailBusy:
		x.noteCredentialFailure()
		x.retry(fault.ProviderBusy, r)
	case wire.FailTarget:
		x.noteCredentialFailure()
		x.next(fault.ProviderError, r)
	case wire.FailTooLong:
		x.next(fault.TooLong, x.permanent(r, failure.Message))
	case wire.FailFiltered:
		x.refuse(fault.Filtered, x.permanent(r, failure.Message))
	default:
		x.refuse(fault.RejectedRequest, x.permanent(r, failure.Message))
	}
}

// noteCredentialFailure records in the target's circuit that the provider rejected or rate-limited the deployment's
// credentials. Failures of a project's own key are not recorded. They say nothing about the deployment's credentials.
func (x *exchange) noteCredentialFailure() {
	if !x.usesOwnProviderKey() {
		x.noteOpened(x.circuits.Refused(&x.config.Routing, x.model().Name, x.now))
	}
}

// retry repeats the request to the same target after a backoff. If no retries are left or the backoff is too long, it
// falls back to the next target.
func (x *exchange) retry(f fault.Fault, r refusal) {
	s := &x.s
	wait, ok := route.BackoffMs(&x.config.Routing, s.retries, r.retryMs, x.random())
	if s.retries >= x.config.Routing.Retries || !ok || wait >= x.remainingMs() || x.circuitOpen() {
		x.next(f, r)
		return
	}
	s.retries++
	x.enter(phaseBackoff)
	x.wait(idTimer, wait)
}

// next falls back to the next target. If there is none, it returns the current target's error to the caller.
func (x *exchange) next(f fault.Fault, r refusal) {
	s := &x.s
	previous := s.orderIndex
	s.orderIndex++
	s.retries, s.imposedMaxTokens = 0, 0
	s.providerKey = "" // the key belongs to the provider of the previous target
	if !x.chooseTarget() {
		s.orderIndex = previous
		x.refuse(f, r.withShortWait())
		return
	}
	x.attempt()
}

func (x *exchange) noteDisconnect() { x.s.disconnected = true }

// abandon ends a request between two attempts because the client has disconnected.
func (x *exchange) abandon() {
	x.s.disconnected = true
	x.refuse(fault.ClientClosed, refusal{})
}

func (x *exchange) startMock() {
	if !x.testMode() {
		x.s.lastTarget = uint64(x.currentIndex()) + 1
	}
	x.enter(phaseMock)
	x.supply(idBuffer, x.requestBuffer())
}

// mockTarget advances to the first target that the key may use. In test mode, the mock responds in that target's
// name.
func (x *exchange) mockTarget() {
	s := &x.s
	for int(s.orderIndex) < len(s.order)-1 && !x.current().Allowed {
		s.orderIndex++
	}
}
