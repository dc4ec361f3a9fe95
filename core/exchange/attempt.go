package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/route"
)

const (
	maxAnswerBytes = 8 << 20  // limit for a whole provider response
	chunkBytes     = 64 << 10 // limit for one chunk of a stream
)

// clientClosed is the outcome in logs and traces when the client disconnects before it has a response.
var clientClosed = fault.Fault{Status: 499, Code: "client_closed_request", Text: "Client closed request"}

// dispatch sends the request to the first suitable target.
func (x *exchange) dispatch() {
	if x.startClassifier() {
		return
	}
	x.dispatchClassified()
}

// dispatchClassified sends a request that does not wait for a classifier.
func (x *exchange) dispatchClassified() {
	if x.s.dispatchMs == 0 { // else the time that it followed a flight counts too
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

// refuseUnready explains why no target is suitable: none has credentials, or none supports the request. It sends no
// Retry-After: only the operator can add credentials, and that takes longer than a client's retries.
func (x *exchange) refuseUnready() {
	for i := range x.s.order {
		x.s.orderIndex = uint64(i)
		if x.current().Usable() {
			x.refuseUnsupported()
			return
		}
	}
	var details []fault.Detail
	for i := range x.s.order {
		x.s.orderIndex = uint64(i)
		if x.current().Allowed {
			details = append(details, fault.Detail{Field: "model", Message: unready(x.current())})
		}
	}
	x.refuse(fault.NoProvider, refusal{noRetry: true, details: details})
}

// unready is the message for a target without usable credentials.
func unready(t *policy.Target) string {
	p := t.Model.Provider
	message := t.Model.Name + " cannot be used: "
	switch {
	case t.MasterKeyID != "":
		return message + "the project's key for provider " + p.Name + " cannot be decrypted; store the key again"
	case len(p.Missing) > 0 && p.Ownable:
		return message + "provider " + p.Name + " has no credentials; set " + strings.Join(p.Missing, " and ") +
			" or store a provider key in the project"
	case len(p.Missing) > 0:
		return message + "provider " + p.Name + " is not configured; set " + strings.Join(p.Missing, " and ")
	}
	return message + "provider " + p.Name + " is not configured; see docs/models.md"
}

// refuseUnsupported names the parameters that the current target does not support.
func (x *exchange) refuseUnsupported() {
	missing := x.unsupportedParams()
	if !x.s.strict {
		missing &= chat.Content
	}
	var details []fault.Detail
	if missing&chat.ParamForeign != 0 {
		part := &x.s.request.foreign
		details = append(details, fault.Detail{
			Field: part.Field, Message: part.Message + ", which " + x.model().Name + " does not support; omit it or use another model",
		})
	}
	for name := range strings.SplitSeq(string((missing &^ chat.ParamForeign).AppendNames(nil)), ",") {
		if name != "" {
			details = append(details, x.unsupported(name))
		}
	}
	x.refuse(fault.InvalidRequest, refusal{noRetry: true, details: x.orUnpriced(details)})
}

// unsupported is the detail for a field that the current target does not support.
func (x *exchange) unsupported(field string) fault.Detail {
	return fault.Detail{Field: field, Message: "is not supported by " + x.model().Name + "; omit it or use another model"}
}

// remainingMs is what remains of the time limit that all attempts share. The limit applies until a whole response or
// the first content of a stream.
func (x *exchange) remainingMs() uint64 {
	total := x.config.RequestMsOf(x.tier())
	return total - min(total, x.since(x.s.dispatchMs))
}

// attempt sends the request to the current target, unless the client has disconnected. (A disconnect does not end
// an attempt that is already in flight, except a stream: see noteDisconnect and abandonStream.)
func (x *exchange) attempt() {
	s := &x.s
	switch {
	case s.disconnected:
		x.refuse(clientClosed, refusal{})
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
	f, _ := provider.For(model.Provider.Wire)
	s.dropped = string((missing &^ s.request.defaulted).AppendNames(nil))
	s.imposedMaxTokens = x.imposedLimit(model)
	if s.endpoint == endpointEmbeddings || missing != 0 || f.Direct == nil || f.Dialect != x.family().Members {
		x.enter(phaseBuild)
		x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: x.requestBuffer()})
		return
	}
	r := x.directRequest(f.Dialect)
	x.fetch(f.Direct(x.wireCall(&r), abi.Part{Buffer: bufferMembers}))
}

// effectiveMaxTokens is the max tokens sent to the target: the caller's, or the limit that the gateway imposes.
func (x *exchange) effectiveMaxTokens() uint64 {
	return max(x.s.request.maxTokens, x.s.imposedMaxTokens)
}

func (x *exchange) wireCall(r *chat.Request) *wire.Call {
	return &wire.Call{Model: x.withOwnProviderKey(x.model()), Request: r, NowMs: x.now, Beta: x.s.beta}
}

// onUnsealed continues the attempt with the decrypted key. If decryption failed, which only the operator can fix,
// it falls back to the next target.
func (x *exchange) onUnsealed() {
	if !x.keepProviderKey() {
		x.noteAttempt("sealed")
		// A retry helps only if it can reach a target that has already failed.
		x.next(fault.NoProvider, refusal{noRetry: x.s.attempts == 0, details: []fault.Detail{{Field: "model", Message: unready(x.current())}}})
		return
	}
	x.attempt()
}

// onBuildBody re-encodes the request for a target of another dialect, or for one that does not support all of its
// parameters.
func (x *exchange) onBuildBody() {
	if x.s.endpoint == endpointEmbeddings {
		x.sendEmbeddings(x.event.Data)
		return
	}
	s := &x.s
	f, _ := provider.For(x.model().Provider.Wire)
	r := x.reparse(x.event.Data)
	r.MaxTokens, r.ServiceTier = x.effectiveMaxTokens(), x.serviceTier(x.model())
	r.Drop(x.supportedParams())
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

// appendExtra adds the names of members that chat.Request does not represent. The caller chose the names and they
// go into a header, so they are checked and their number is limited.
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

// fetch sends the request. Its timeouts before the first content are capped at what remains of the shared time limit.
func (x *exchange) fetch(request abi.Action) {
	s := &x.s
	s.attempts++
	s.lastTarget = uint64(x.currentIndex()) + 1
	s.providerKey = "" // the request contains it now
	s.times.upstreamStart = x.now
	s.stream = stream{opened: s.stream.opened}
	s.govern.live = live.Stream{}
	request.Kind, request.ID, request.Buffer, request.Limit = abi.ActionFetch, idFetch, bufferUpstream, maxAnswerBytes
	t := x.config.TimeoutsOf(x.tier())
	remaining := x.remainingMs()
	t.HeadMs, t.FirstByteMs = min(t.HeadMs, remaining), min(t.FirstByteMs, remaining)
	if x.streams() {
		request.Stream, request.Limit = 200, chunkBytes
		x.enter(phaseOpening)
	} else {
		t.TotalMs = min(t.TotalMs, remaining)
		x.enter(phaseWhole)
	}
	request.Timeouts = t
	x.circuits.Try(&x.config.Routing, x.model().Name, x.usesOwnProviderKey(), x.now)
	x.await(request)
}

// onResponse takes a whole provider response of any status.
func (x *exchange) onResponse() {
	x.cancel(idTick)
	x.s.times.upstream += x.since(x.s.times.upstreamStart)
	x.noteAttempt(strconv.FormatUint(x.event.Code, 10))
	if x.event.Code == 200 {
		x.readAnswer()
		return
	}
	f, _ := provider.For(x.model().Provider.Wire)
	x.onProviderError(f.Failure(x.event.Code, x.json()))
}

// onProviderError handles a provider's error response: it retries the same target, falls back to the next one, or refuses
// the request.
func (x *exchange) onProviderError(failure wire.Failure) {
	model := x.model()
	failure.Message = x.publicMessage(failure.Message)
	r := x.providerRefusal(&failure)
	r.retryMs = provider.RetryAfterMs(x.header("retry-after-ms"), x.header("retry-after"), x.now)
	switch failure.Kind {
	case wire.FailDown:
		x.circuits.Failed(&x.config.Routing, model.Name, x.now)
		x.retry(fault.ProviderError, r)
	case wire.FailBusy:
		x.noteCredentialFailure()
		x.retry(fault.ProviderBusy, r)
	case wire.FailTarget:
		x.noteCredentialFailure()
		x.next(fault.ProviderError, r)
	case wire.FailTooLong:
		x.next(x.familyFault(fault.TooLong), r.permanent(failure.Message))
	case wire.FailFiltered:
		x.refuse(x.familyFault(fault.Filtered), r.permanent(failure.Message))
	default:
		x.refuse(x.familyFault(fault.RejectedRequest), r.permanent(failure.Message))
	}
}

// noteCredentialFailure records in the target's circuit that the provider rejected or rate-limited the deployment's
// credentials. A failure of a project's own key is not recorded, because it says nothing about other credentials.
func (x *exchange) noteCredentialFailure() {
	if !x.usesOwnProviderKey() {
		x.circuits.Refused(&x.config.Routing, x.model().Name, x.now)
	}
}

// familyFault is the fault for a request that the provider rejected. The native endpoints return 502 instead of
// 400: their requests are validated here, so the error is not the caller's.
func (x *exchange) familyFault(f fault.Fault) fault.Fault {
	if x.s.dialect == chat.Native {
		return fault.ProviderRejected
	}
	return f
}

// retry repeats the request to the same target after a backoff. If no retry is left, or the backoff is too long,
// it falls back to the next target.
func (x *exchange) retry(f fault.Fault, r refusal) {
	s := &x.s
	wait, ok := route.BackoffMs(&x.config.Routing, s.retries, r.retryMs, x.random())
	if s.retries >= x.config.Routing.Retries || !ok || wait >= x.remainingMs() || x.circuitOpen() {
		x.next(f, r)
		return
	}
	s.retries++
	x.enter(phaseBackoff)
	x.await(abi.Action{Kind: abi.ActionWait, ID: idTimer, KeepMs: wait})
}

// next falls back to the next target. Without one, it returns the current target's error to the caller.
func (x *exchange) next(f fault.Fault, r refusal) {
	s := &x.s
	previous := s.orderIndex
	s.orderIndex++
	s.retries, s.imposedMaxTokens = 0, 0
	s.providerKey = "" // it belongs to the previous target's provider
	if !x.chooseTarget() {
		s.orderIndex = previous
		x.refuse(f, r.withShortWait())
		return
	}
	x.attempt()
}

const maxAttemptResults = 400

// noteAttempt appends an attempt's target and outcome to the attempt results.
func (x *exchange) noteAttempt(result string) {
	s := &x.s
	model := x.model()
	entry := model.Provider.Name + "/" + model.Name + "=" + result
	if s.attemptResults != "" {
		entry = ", " + entry
	}
	if len(s.attemptResults)+len(entry) <= maxAttemptResults {
		s.attemptResults += entry
	}
}

// attemptsHeader is the number of attempts and their outcomes: "2; openai/gpt-4.1=503, gemini/gemini-3-flash=200".
func (x *exchange) attemptsHeader() string {
	n := strconv.FormatUint(x.s.attempts, 10)
	if x.s.attemptResults == "" {
		return n
	}
	return n + "; " + x.s.attemptResults
}

// noteDisconnect records that the client has disconnected.
func (x *exchange) noteDisconnect() { x.s.disconnected = true }

// abandon ends a request between two attempts because the client has disconnected.
func (x *exchange) abandon() {
	x.s.disconnected = true
	x.refuse(clientClosed, refusal{})
}
