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

// answer is a completion on its way to the caller.
type answer struct {
	provider string
	model    string
	usage    chat.Usage
	costPico money.Pico
	cached   bool
	clean    bool // complete, and stopped by itself: worth storing
}

// json is the event's data, if it is JSON.
func (x *exchange) json() (root gjson.Result) {
	if jsontext.Check(x.event.Data) == jsontext.OK {
		root = gjson.ParseBytes(x.event.Data)
	}
	return root
}

// takeAnswer reads a 200.
func (x *exchange) takeAnswer() {
	s := &x.s
	if s.endpoint == endpointEmbeddings {
		x.takeEmbeddings()
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
		x.unreadable()
		return
	}
	r.Usage = x.figures(r.Usage, responseTokens(&r), true)
	x.spend(&r.Usage)
	if s.request.json && !isJSONText(&r) {
		x.mend()
		return
	}
	var raw []byte
	if f.Dialect == s.dialect {
		raw = x.event.Data
	}
	x.succeed(x.answer(complete(&r)), &r, raw)
}

// answer describes what the present target has answered. complete: the model stopped by itself.
func (x *exchange) answer(complete bool) *answer {
	model, spent := x.model(), &x.s.spent
	return &answer{
		provider: model.Provider.Name, model: model.Name, usage: spent.usage, costPico: spent.costPico, clean: complete && !spent.estimated,
	}
}

// unreadable ends an exchange whose provider answered with something else than an answer.
func (x *exchange) unreadable() {
	x.circuits.Failed(&x.config.Routing, x.model().Name, x.now)
	u := x.estimate(uint64(len(x.event.Data)+3) / 4)
	x.spend(&u)
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

func (x *exchange) meta(a *answer) api.Meta {
	return api.Meta{
		RequestID: x.s.requestID, Model: a.model, Provider: a.provider, CreatedMs: x.s.startMs, Cached: a.cached,
		CostPico: a.costPico, Usage: a.usage, IncludeUsage: x.s.request.includeUsage,
	}
}

// pieceBytes is how much of a text one event of a replayed stream carries.
const pieceBytes = 32

// written is an answer in the caller's shape: whole, or all of a stream's events.
func (x *exchange) written(r *chat.Response, m *api.Meta) []byte {
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

// deltasOf is an answer in the form in which the core keeps it.
func deltasOf(r *chat.Response) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 1024)}
	deltas := chat.Unfold(r, maxEntryBytes)
	for i := range deltas {
		chat.AppendDelta(&w, &deltas[i])
	}
	return w.Buf
}

// succeed answers the caller with what was read from a provider, and after that settles and stores. raw is
// the provider's own answer, if that is in the caller's dialect: it is sent as it came.
func (x *exchange) succeed(a *answer, r *chat.Response, raw []byte) {
	s := &x.s
	if !x.testMode() {
		x.circuits.Succeeded(a.model, x.owned(), x.latencyMs(), x.now)
	}
	part, kept := abi.Part{Buffer: bufferUpstream}, raw
	if raw == nil {
		m := x.meta(a)
		part = abi.Part{Data: x.written(r, &m)}
		kept = deltasOf(r)
	}
	headers := x.answerHeaders(a)
	x.respond(200, headers, []abi.Part{part})
	settle := x.settlement(keymeter.Served, a.model, 200)
	if raw == nil {
		x.keepReplay(&settle, 200, headers, part.Data)
	} else {
		x.keepReplay(&settle, 200, headers, raw)
	}
	x.settle(&settle)
	x.store(a, raw != nil, kept)
	s.hit.provider, s.hit.model = a.provider, a.model
	x.log(200, "")
	x.end()
}
