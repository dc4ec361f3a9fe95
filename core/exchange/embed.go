package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider/mock"
	"github.com/postern-ai/postern/core/provider/wire"
)

func (x *exchange) parseEmbeddings(p *api.Parser, root gjson.Result) {
	e := openai.ParseEmbeddings(p, root, false)
	x.useEmbeddings(p, &e, root)
}

func (x *exchange) parseEmbed(p *api.Parser, root gjson.Result) {
	e := native.ParseEmbed(p, root)
	x.useEmbeddings(p, &e, root)
}

func (x *exchange) useEmbeddings(p *api.Parser, e *openai.Embeddings, root gjson.Result) {
	x.noteUser(e.User, nil)
	switch {
	case len(p.Details) > 0:
		x.reject(fault.InvalidRequest, p.Details...)
	case !policy.Knows(x.config, e.Model, x.endpoint.api):
		x.noteUnknownModel(e.Model)
	default:
		x.s.request = request{model: e.Model, Order: bill.Order{PromptTokens: e.PromptTokens()}, unknown: appendExtra("", e.Unknown)}
		x.computeCacheKey([]byte(root.Raw))
	}
}

func (x *exchange) sendEmbeddings(body []byte) {
	e := openai.ParseEmbeddings(&api.Parser{}, gjson.ParseBytes(body), x.s.dialect == chat.Native)
	call := wire.EmbedCall{
		Model: x.withOwnProviderKey(x.model()), Inputs: e.Inputs, Tokens: e.Tokens, Dimensions: e.Dimensions, User: e.User, NowMs: x.now,
	}
	f := x.wire()
	var request abi.Action
	if f.EmbedRequest != nil {
		request = f.EmbedRequest(&call)
	}
	if request.URL == "" {
		x.next(fault.InvalidRequest, refusal{noRetry: true, details: []fault.Detail{
			{Field: "input", Message: "has a form that " + x.model().Name +
				" does not support; send one string per request or use another model"},
		}})
		return
	}
	x.s.request.base64, x.s.request.vectors = e.Base64, e.Count()
	x.fetch(request)
}

// maxMockNumbers limits the total number of vector elements that a request may ask for through its dimensions
// parameter. They take about 10 MB. Above the limit, the mock uses its default dimensions.
const maxMockNumbers = 1 << 20

func (x *exchange) mockEmbeddings(body []byte) {
	e := openai.ParseEmbeddings(&api.Parser{}, gjson.ParseBytes(body), x.s.dialect == chat.Native)
	x.s.request.base64 = e.Base64
	var out wire.Embedding
	if e.Dimensions*e.Count() > maxMockNumbers {
		e.Dimensions = 0
	}
	for _, text := range e.Inputs {
		out.Vectors = append(out.Vectors, mock.Vector(text.Plain(), e.Dimensions))
	}
	for _, ids := range e.Tokens {
		out.Vectors = append(out.Vectors, mock.Vector(ids, e.Dimensions))
	}
	out.Usage = chat.Usage{Input: x.s.request.PromptTokens, Reported: true}
	x.chargeNothing(&out.Usage)
	x.answerEmbeddings(&out, "mock")
}

func (x *exchange) readEmbeddings() {
	model := x.model()
	f := x.wire()
	var e wire.Embedding
	root, ok := x.json(), false
	if root.IsObject() && head.IsJSON(x.header("content-type")) {
		e, ok = f.EmbedResponse(root)
	}
	if !ok || uint64(len(e.Vectors)) != x.s.request.vectors {
		x.refuseUnreadable()
		return
	}
	if !bill.Credible(&e.Usage, 0) {
		e.Usage = chat.Usage{Input: x.s.request.PromptTokens}
	}
	e.Usage.Output = 0
	x.spend(&e.Usage)
	x.answerEmbeddings(&e, model.Provider.Name)
}

func (x *exchange) answerEmbeddings(e *wire.Embedding, providerName string) {
	a := x.answer(true)
	a.provider = providerName
	body := openai.AppendEmbeddings(make([]byte, 0, 4096), e.Vectors, a.model, a.usage.Input, x.s.request.base64)
	if x.s.dialect == chat.Native {
		x.noteSuccess(a.model)
		m := x.meta(a)
		r := response{answer: a, outcome: keymeter.Served, entry: body, raw: true, repeat: x.embedded(body, &m)}
		r.body = abi.Part{Data: r.repeat}
		x.served(&r)
		return
	}
	x.keep(bufferUpstream, body)
	x.respondAnswer(a, nil, body)
}

// embedded returns stored embeddings in the native format. The stored format is that of /v1/embeddings.
func (x *exchange) embedded(body []byte, m *api.Meta) []byte {
	var vectors []string
	api.Each(jsonvalue.Get(string(body), "data"), func(one gjson.Result) {
		vectors = append(vectors, jsonvalue.Get(one.Raw, "embedding").Raw)
	})
	return native.AppendEmbeddings(make([]byte, 0, len(body)+256), vectors, m)
}
