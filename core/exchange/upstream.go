package exchange

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/mock"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/route"
)

// upstream takes what came of a fetch.
func (x *exchange) upstream() {
	switch {
	case x.s.route == routeCount:
		x.counted()
	case x.s.stream.over:
		// What comes after the end is nothing to us.
	case x.event.Kind == abi.EventResponse:
		x.upstreamResponse()
	case x.event.Kind == abi.EventHead:
		x.streamHead()
	case x.event.Kind == abi.EventChunk:
		x.streamChunk(x.event.Data, false)
	case x.event.Kind == abi.EventEnd:
		x.streamChunk(nil, true)
	case x.s.stream.begun:
		x.streamFault()
	default:
		x.upstreamFault()
	}
}

// upstreamResponse takes a provider's whole answer, whatever its status.
func (x *exchange) upstreamResponse() {
	x.s.stream.asked = false // it is no stream: there is nothing to cut
	x.s.times.upstream += x.since(x.s.times.upstreamStart)
	x.tell(strconv.FormatUint(x.event.Code, 10))
	if x.event.Code == 200 {
		x.upstreamOK()
		return
	}
	f, _ := provider.For(x.model().Provider.Wire)
	x.failed(f.Failure(x.event.Code, x.json()))
}

const maxStory = 400

// tell adds to the story of the attempts: which target, and what came of it.
func (x *exchange) tell(what string) {
	s := &x.s
	model := x.model()
	word := model.Provider.Name + "/" + model.Name + "=" + what
	if s.story != "" {
		word = ", " + word
	}
	if len(s.story)+len(word) <= maxStory {
		s.story += word
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

// attemptsHeader is the number of attempts, and their story: "2; openai/gpt-4.1=503, gemini/gemini-3-flash=200".
func (x *exchange) attemptsHeader() string {
	n := strconv.FormatUint(x.s.attempts, 10)
	if x.s.story == "" {
		return n
	}
	return n + "; " + x.s.story
}

// json is the event's data, if it is JSON.
func (x *exchange) json() (root gjson.Result) {
	if jsontext.Check(x.event.Data) == jsontext.OK {
		root = gjson.ParseBytes(x.event.Data)
	}
	return root
}

// failed goes on after a provider's error: with the same target, with another, or not at all.
func (x *exchange) failed(failure wire.Failure) {
	model := x.model()
	retryMs := provider.RetryAfterMs(x.header("retry-after-ms"), x.header("retry-after"))
	message := x.publicMessage(failure.Message)
	switch failure.Kind {
	case wire.FailDown:
		x.circuits.Failed(&x.config.Routing, model.Name, x.now)
		x.retry(fault.ProviderError, retryMs)
	case wire.FailBusy:
		x.refusedCredentials()
		x.retry(fault.ProviderBusy, retryMs)
	case wire.FailTarget:
		x.refusedCredentials()
		x.next(fault.ProviderError, refusal{retryMs: retryMs})
	case wire.FailTooLong:
		x.next(x.rejection(fault.TooLong), refusal{noRetry: true, message: message})
	case wire.FailFiltered:
		x.refuse(x.rejection(fault.Filtered), refusal{noRetry: true, message: message})
	default:
		x.refuse(x.rejection(fault.RejectedRequest), refusal{noRetry: true, message: message})
	}
}

// refusedCredentials counts a failure that says nothing of the target for others' credentials.
func (x *exchange) refusedCredentials() {
	if !x.owned() {
		x.circuits.Refused(&x.config.Routing, x.model().Name, x.now)
	}
}

// rejection is how the caller's family is told that the provider did not want the request. Our own says 502:
// its requests are checked, so that it is not the caller's fault.
func (x *exchange) rejection(f fault.Fault) fault.Fault {
	if x.s.dialect == chat.Native {
		return fault.ProviderRejected
	}
	return f
}

const maxMessage = 600

// publicMessage is a provider's message as a caller may read it: short, and without the operator's secrets.
// Where the project's own key was used, which is not at hand any more, there is none.
func (x *exchange) publicMessage(message jsontext.Spelled) jsontext.Spelled {
	p := x.model().Provider
	secret := x.owned() || p.Key != "" && strings.Contains(string(message), p.Key)
	for _, s := range p.Settings {
		secret = secret || len(s.Value) >= minSecret && strings.Contains(string(message), s.Value)
	}
	if secret || len(message) > maxMessage {
		return ""
	}
	return message
}

// minSecret is how long a setting is at least that could be one.
const minSecret = 12

// upstreamFault takes an attempt that brought no whole answer, and no stream's beginning.
func (x *exchange) upstreamFault() {
	s := &x.s
	s.stream.asked = false
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

// bookUnknown books an attempt that the provider may have billed without telling: its prompt, estimated.
func (x *exchange) bookUnknown() {
	x.spend(&chat.Usage{Input: x.s.request.promptTokens}, true)
}

func (x *exchange) spend(u *chat.Usage, estimated bool) {
	spent := &x.s.spent
	spent.usage.Add(u)
	spent.costPico = money.Add(spent.costPico, x.model().Cost(u))
	spent.estimated = spent.estimated || estimated
}

// retry tries the same target again after a wait, if it may and the wait is not too long; else the next.
func (x *exchange) retry(f fault.Fault, retryAfterMs uint64) {
	s := &x.s
	wait, ok := route.BackoffMs(&x.config.Routing, s.retries, retryAfterMs, x.random())
	if s.retries >= x.config.Routing.Retries || !ok || x.resting() {
		x.next(f, refusal{retryMs: retryAfterMs})
		return
	}
	s.retries++
	x.do(abi.Action{Kind: abi.ActionWait, ID: idWait, KeepMs: wait})
}

// next falls back to the next target. If there is none, the caller gets the last target's error.
func (x *exchange) next(f fault.Fault, r refusal) {
	s := &x.s
	s.at++
	s.retries = 0
	s.policy.secret = "" // it was the last target's provider's
	if !x.settleOnTarget() {
		s.at = uint64(len(s.order) - 1)
		x.refuse(f, r)
		return
	}
	x.attempt()
}

// upstreamOK reads a 200.
func (x *exchange) upstreamOK() {
	s := &x.s
	if s.route == routeEmbeddings {
		x.embeddingsOK()
		return
	}
	model := x.model()
	f, _ := provider.For(model.Provider.Wire)
	r, ok := chat.Response{}, false
	if isJSON(x.header("content-type")) {
		if root := x.json(); root.IsObject() {
			r, ok = f.Response(root)
		}
	}
	if !ok {
		x.unreadable()
		return
	}
	if !r.Usage.Reported {
		r.Usage = x.estimate(responseTokens(&r))
	}
	x.spend(&r.Usage, !r.Usage.Reported)
	if s.request.json && !isJSONText(&r) {
		x.mend()
		return
	}
	a := answer{
		provider: model.Provider.Name, model: model.Name, usage: s.spent.usage, costPico: s.spent.costPico,
		clean: complete(&r) && !s.spent.estimated, estimated: s.spent.estimated,
	}
	var raw []byte
	if f.Dialect == s.dialect {
		raw = x.event.Data
	}
	x.succeed(&a, &r, raw)
}

// unreadable ends an exchange whose provider answered with something else than an answer.
func (x *exchange) unreadable() {
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	u := x.estimate(uint64(len(x.event.Data)+3) / 4)
	x.spend(&u, true)
	x.refuse(fault.ProviderAnswer, refusal{})
}

// estimate is the usage of an answer of so many tokens.
func (x *exchange) estimate(tokens uint64) chat.Usage {
	return chat.Usage{Input: x.s.request.promptTokens, Output: tokens}
}

func responseTokens(r *chat.Response) (n uint64) {
	for i := range r.Choices {
		n += chat.PartTokens(r.Choices[i].Parts)
	}
	return n
}

func complete(r *chat.Response) bool {
	for i := range r.Choices {
		if !r.Choices[i].Finish.Complete() {
			return false
		}
	}
	return true
}

// mend asks once more for JSON. What the first answer cost stays booked.
func (x *exchange) mend() {
	if x.s.mended {
		x.refuse(fault.ProviderAnswer, refusal{})
		return
	}
	x.s.mended = true
	x.attempt()
}

// isJSONText says whether an answer's text is JSON.
func isJSONText(r *chat.Response) bool {
	var text []byte
	for _, p := range r.Choices[0].Parts {
		if p.Kind == chat.Text {
			text = jsontext.Unescape(text, []byte(p.Text))
		}
	}
	return jsontext.Check(text) == jsontext.OK
}

// mockAnswer answers in place of a provider.
func (x *exchange) mockAnswer() {
	s := &x.s
	model := x.model()
	request := x.reread(x.event.Data)
	r := mock.Answer(&request)
	s.spent.usage = chat.Usage{Input: s.request.promptTokens, Output: x.estimate(responseTokens(&r)).Output, Reported: true}
	if s.request.maxTokens > 0 {
		s.spent.usage.Output = min(s.spent.usage.Output, s.request.maxTokens)
	}
	x.succeed(&answer{provider: "mock", model: model.Name, usage: s.spent.usage, clean: complete(&r)}, &r, nil)
}
