package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider"
)

// answer describes a completion that is returned to the caller.
type answer struct {
	provider string
	model    string
	usage    chat.Usage
	costPico money.Pico
	cached   bool
	storable bool // the model finished normally and usage was reported: may be cached
}

// json parses the event's data. The result is empty if the data is not valid JSON.
func (x *exchange) json() (root gjson.Result) {
	if jsontext.Check(x.event.Data) == jsontext.OK {
		root = gjson.ParseBytes(x.event.Data)
	}
	return root
}

// readAnswer reads a provider's 200 response.
func (x *exchange) readAnswer() {
	s := &x.s
	if s.endpoint == endpointEmbeddings {
		x.readEmbeddingsAnswer()
		return
	}
	f, _ := provider.For(x.model().Provider.Wire)
	r, ok := chat.Response{}, false
	if isJSON(x.header("content-type")) {
		if root := x.json(); root.IsObject() {
			r, ok = f.Response(root)
		}
	}
	if !ok {
		x.refuseUnreadable()
		return
	}
	r.Usage = x.billableUsage(r.Usage, responseTokens(&r), true)
	x.spend(&r.Usage)
	if s.request.json && !isJSONText(&r) {
		x.retryForJSON()
		return
	}
	var raw []byte
	if f.Dialect == s.dialect && !s.request.stream {
		raw = x.event.Data
	}
	raw, ok = x.checkAnswer(&r, raw)
	if !ok {
		return
	}
	x.respondAnswer(x.answer(complete(&r)), &r, raw)
}

// answer describes the response of the current target. complete means that the model finished by itself.
func (x *exchange) answer(complete bool) *answer {
	model, spent := x.model(), &x.s.spent
	return &answer{
		provider: model.Provider.Name, model: model.Name, usage: spent.usage, costPico: spent.costPico, storable: complete && !spent.estimated,
	}
}

// refuseUnreadable ends the exchange because the provider's 200 response could not be parsed. It is charged by its
// estimated size, at most with the output that it may have.
func (x *exchange) refuseUnreadable() {
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	u := x.estimate(min(uint64(len(x.event.Data)+3)/4, x.maxOutputTokens(x.model())*max(x.s.request.n, 1)))
	x.spend(&u)
	x.refuse(fault.ProviderAnswer, refusal{})
}

// estimate is the estimated usage for a response of the given number of tokens, at the terms and with all tool calls that the
// request asks for.
func (x *exchange) estimate(tokens uint64) chat.Usage {
	u := chat.Usage{Input: x.s.request.promptTokens, Output: tokens}
	x.price(x.model(), &u)
	return u
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

// retryForJSON repeats the request once because the text was not JSON. The first response is charged too.
func (x *exchange) retryForJSON() {
	if x.s.jsonRetried {
		x.refuse(fault.ProviderAnswer, refusal{})
		return
	}
	x.s.jsonRetried = true
	x.attempt()
}

// isJSONText reports whether the response text is valid JSON.
func isJSONText(r *chat.Response) bool {
	var text []byte
	for _, p := range r.Choices[0].Parts {
		if p.Kind == chat.Text {
			text = jsontext.Unescape(text, []byte(p.Text))
		}
	}
	return jsontext.Check(text) == jsontext.OK
}

func (x *exchange) meta(a *answer) api.Meta {
	return api.Meta{
		RequestID: x.s.requestID, Model: a.model, Provider: a.provider, CreatedMs: x.s.startMs, Cached: a.cached,
		CostPico: a.costPico, Usage: a.usage, IncludeUsage: x.s.request.includeUsage, Governor: x.governorJSON(a.cached),
	}
}

// pieceBytes is the text length per event when a whole response is sent as a stream.
const pieceBytes = 32

// encodeAnswer encodes a response in the caller's dialect: as one body, or as all events of a stream.
func (x *exchange) encodeAnswer(r *chat.Response, m *api.Meta) []byte {
	f := x.family()
	if !x.s.request.stream {
		return f.Answer(make([]byte, 0, 1024), r, m)
	}
	var state api.State
	out := make([]byte, 0, 4096)
	deltas := chat.Unfold(r, pieceBytes)
	for i := range deltas {
		out = f.Stream(out, &state, &deltas[i], m)
	}
	return f.End(out, &state, r, m)
}

// storedDeltas encodes a response as deltas, the core's own storage format.
func storedDeltas(r *chat.Response) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 1024)}
	deltas := chat.Unfold(r, maxEntryBytes)
	for i := range deltas {
		chat.AppendDelta(&w, &deltas[i])
	}
	return w.Buf
}

// respondAnswer sends a provider's response to the caller, then settles and caches it. With an Idempotency-Key it is
// stored first. raw is the provider's body if it is in the caller's dialect: it is sent unchanged.
func (x *exchange) respondAnswer(a *answer, r *chat.Response, raw []byte) {
	s := &x.s
	if !x.testMode() {
		x.circuits.Succeeded(a.model, x.usesOwnProviderKey(), x.latencyMs(), x.now)
	}
	part, stored := abi.Part{Buffer: bufferUpstream}, raw
	switch {
	case raw == nil:
		m := x.meta(a)
		stored = storedDeltas(r)
		x.restoreResponse(r)
		part = abi.Part{Data: x.encodeAnswer(r, &m)}
	case s.govern.on && s.endpoint != endpointEmbeddings:
		part = abi.Part{Data: x.restoreRaw(raw)} // bufferUpstream has the unchecked response
	}
	if s.idempotency != "" {
		x.keepWhole(a, part, raw)
		x.store(a, raw != nil, stored)
		x.landAnswer(a, raw != nil, stored)
		return
	}
	x.respond(200, x.answerHeaders(a), []abi.Part{part})
	settle := x.settlement(keymeter.Served, a.model, 200)
	x.settle(&settle)
	x.store(a, raw != nil, stored)
	x.landAnswer(a, raw != nil, stored)
	s.hit.provider, s.hit.model = a.provider, a.model
	x.log(200, "")
	x.end()
}

// keepWhole stores a whole response before it is sent. raw is the content of the part's buffer.
func (x *exchange) keepWhole(a *answer, part abi.Part, raw []byte) {
	if part.Buffer == 0 {
		part.Buffer, raw = bufferAnswer, part.Data
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: part.Buffer, Data: raw})
	}
	settle := x.settlement(keymeter.Served, a.model, 200)
	x.keepReplay(&settle, 200, x.answerHeaders(a), raw)
	x.s.hit.provider, x.s.hit.model = a.provider, a.model
	x.keepAnswer(&settle, part.Buffer)
}
