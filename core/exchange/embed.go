package exchange

import (
	"math"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/base64"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/mock"
	"github.com/postern-ai/postern/core/provider/wire"
)

const (
	maxInputs     = 2048
	maxDimensions = 65536
)

// embeddings is the body of POST /v1/embeddings.
// Source: OpenAI's API reference, "Create embeddings" (platform.openai.com/docs/api-reference/embeddings).
type embeddings struct {
	call    wire.EmbedCall
	model   string
	base64  bool
	unknown []chat.Member // not sent
}

func readEmbeddings(p *api.Parser, root gjson.Result) (e embeddings) {
	haveInput := false
	root.ForEach(func(key, v gjson.Result) bool {
		switch name := key.String(); name {
		case "model":
			e.model = p.Model(v)
		case "input":
			haveInput = true
			e.inputs(p, v)
		case "dimensions":
			e.call.Dimensions = p.Integer(name, v, 1, maxDimensions)
		case "encoding_format":
			if e.base64 = v.Str == "base64"; !e.base64 && v.Str != "float" && v.Type != gjson.Null {
				p.WrongValue(name, "float or base64", v)
			}
		case "user":
			e.call.User = p.Text(name, v)
		default:
			e.unknown = p.Ignore(e.unknown, name, "is not a parameter of embeddings; omit it")
		}
		return true
	})
	if e.model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if !haveInput {
		p.Wrong("input", "is required")
	}
	return e
}

const onlyOneForm = "must contain only strings or only arrays of token IDs"

// length is the number of elements of an array.
func length(v gjson.Result) (n int) {
	v.ForEach(func(_, _ gjson.Result) bool { n++; return true })
	return n
}

func (e *embeddings) inputs(p *api.Parser, v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		e.call.Inputs = []jsontext.Escaped{jsontext.Inside(v.Raw)}
	case v.IsArray() && jsonvalue.Get(v.Raw, "0").Type == gjson.Number:
		e.tokens(p, v)
	case v.IsArray():
		i := 0
		v.ForEach(func(_, item gjson.Result) bool {
			if item.IsArray() {
				e.tokens(p, item)
			} else {
				e.call.Inputs = append(e.call.Inputs, p.Text(api.At("input", i, ""), item))
			}
			i++
			return !p.Full() && len(e.call.Inputs)+len(e.call.Tokens) <= maxInputs
		})
	default:
		p.WrongType("input", "a string, an array of strings or an array of token IDs", v)
	}
	if n := len(e.call.Inputs) + len(e.call.Tokens); len(p.Details) == 0 && (n == 0 || n > maxInputs) {
		p.Wrong("input", "must have 1 to 2048 elements, got "+strconv.Itoa(length(v)))
	}
	if len(e.call.Inputs) > 0 && len(e.call.Tokens) > 0 {
		p.Wrong("input", onlyOneForm)
	}
}

// tokens reads one input that consists of token IDs.
func (e *embeddings) tokens(p *api.Parser, v gjson.Result) {
	v.ForEach(func(_, id gjson.Result) bool {
		if id.Type != gjson.Number {
			p.Wrong("input", onlyOneForm)
		}
		return id.Type == gjson.Number
	})
	e.call.Tokens = append(e.call.Tokens, v.Raw)
}

func (e *embeddings) promptTokens() (n uint64) {
	for _, text := range e.call.Inputs {
		n += chat.EstimateTokens(text)
	}
	for _, ids := range e.call.Tokens {
		n += uint64(len(ids))/4 + 1
	}
	return n
}

func (x *exchange) parseEmbeddings(p *api.Parser, root gjson.Result) {
	e := readEmbeddings(p, root)
	switch {
	case len(p.Details) > 0:
		x.reject(fault.InvalidRequest, p.Details...)
	case !policy.Knows(x.config, e.model, config.EmbeddingModel):
		x.noteUnknownModel(e.model)
	default:
		x.s.request = request{model: e.model, promptTokens: e.promptTokens(), unknown: appendExtra("", e.unknown)}
		x.computeCacheKey([]byte(root.Raw))
	}
}

// sendEmbeddings sends the request to the current target.
func (x *exchange) sendEmbeddings(body []byte) {
	e := readEmbeddings(&api.Parser{}, gjson.ParseBytes(body))
	e.call.Model, e.call.NowMs = x.withOwnProviderKey(x.model()), x.now
	f, _ := provider.For(e.call.Model.Provider.Wire)
	var request abi.Action
	if f.EmbedRequest != nil {
		request = f.EmbedRequest(&e.call)
	}
	if request.URL == "" {
		x.next(fault.InvalidRequest, refusal{noRetry: true, details: []fault.Detail{
			{Field: "input", Message: "has a form that " + x.model().Name +
				" does not support; send one string per request or use another model"},
		}})
		return
	}
	x.s.request.base64 = e.base64
	x.fetch(request)
}

func (x *exchange) mockEmbeddings(body []byte) {
	e := readEmbeddings(&api.Parser{}, gjson.ParseBytes(body))
	x.s.request.base64 = e.base64
	var out wire.Embedding
	for _, text := range e.call.Inputs {
		out.Vectors = append(out.Vectors, mock.Vector(text.Plain(), e.call.Dimensions))
	}
	for _, ids := range e.call.Tokens {
		out.Vectors = append(out.Vectors, mock.Vector(ids, e.call.Dimensions))
	}
	out.Usage = chat.Usage{Input: x.s.request.promptTokens, Reported: true}
	x.charge(&out.Usage, 0)
	x.answerEmbeddings(&out, "mock")
}

// readEmbeddingsAnswer reads a provider's 200 response.
func (x *exchange) readEmbeddingsAnswer() {
	model := x.model()
	f, _ := provider.For(model.Provider.Wire)
	var e wire.Embedding
	root, ok := x.json(), false
	if root.IsObject() && isJSON(x.header("content-type")) {
		e, ok = f.EmbedResponse(root)
	}
	if !ok {
		x.refuseUnreadable()
		return
	}
	if !credible(&e.Usage, 0) {
		e.Usage = chat.Usage{Input: x.s.request.promptTokens}
	}
	e.Usage.Output = 0
	x.spend(&e.Usage)
	x.answerEmbeddings(&e, model.Provider.Name)
}

func (x *exchange) answerEmbeddings(e *wire.Embedding, providerName string) {
	a := x.answer(true)
	a.provider = providerName
	body := embeddingsJSON(e, a.model, &a.usage, x.s.request.base64)
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferUpstream, Data: body})
	x.respondAnswer(a, nil, body)
}

// embeddingsJSON encodes a list of embeddings in OpenAI's format.
func embeddingsJSON(e *wire.Embedding, model string, u *chat.Usage, packed bool) []byte {
	b := jsontext.Builder{B: make([]byte, 0, 4096)}
	b.Open('{')
	b.Member("object", `"list"`)
	b.Key("data")
	b.Open('[')
	for i, vector := range e.Vectors {
		b.Open('{')
		b.Member("object", `"embedding"`)
		b.Key("index")
		b.Uint(uint64(i))
		b.Key("embedding")
		if packed {
			b.Raw(`"`)
			b.B = append(base64.Append(b.B, floats(vector)), '"')
		} else {
			b.Raw(vector)
		}
		b.Close('}')
	}
	b.Close(']')
	b.Key("model")
	b.String(model)
	b.Key("usage")
	b.Raw(`{"prompt_tokens":` + strconv.FormatUint(u.Input, 10) + `,"total_tokens":` + strconv.FormatUint(u.Input, 10) + `}`)
	b.Close('}')
	return b.B
}

// floats packs a vector as OpenAI does for base64: 32-bit floats, little-endian.
func floats(vector string) (packed []byte) {
	gjson.Parse(vector).ForEach(func(_, v gjson.Result) bool {
		bits := math.Float32bits(float32(v.Num))
		packed = append(packed, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
		return true
	})
	return packed
}
