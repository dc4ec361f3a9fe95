package exchange

import (
	"crypto/sha256"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/policy"
)

// takeBody takes the request's body: checked, read, and its members written anew into a buffer of their own.
func (x *exchange) takeBody() {
	x.readBody()
	x.proceed()
}

// takeEarlyBody takes a body that is there before it is known whether the key may send it.
func (x *exchange) takeEarlyBody() { x.readBody() }

func (x *exchange) readBody() {
	s := &x.s
	switch x.event.Code {
	case abi.OutcomeTooLarge:
		x.rejectLargeBody()
	case abi.OutcomeOK:
		s.bodyDone = true
		x.parse(x.event.Data)
		if s.bad != "" && s.idempotency != "" {
			sum := sha256.Sum256(x.event.Data)
			s.bodyHash = keys.Hex(sum[:])
		}
	default:
		s.idempotency = ""
		x.reject(fault.InvalidRequest, fault.Detail{Field: "body", Message: "ended early; send the request again"})
	}
}

func (x *exchange) parse(body []byte) {
	p := api.Parser{Skim: true}
	if x.s.badIdempotency {
		p.Wrong("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
	}
	if problem := jsontext.Check(body); problem != jsontext.OK {
		message := problem.String()
		if len(body) == 0 {
			message = "is required"
		}
		p.Wrong("body", message)
		x.reject(fault.InvalidRequest, p.Details...)
		return
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		p.WrongType("body", "a JSON object", root)
		x.reject(fault.InvalidRequest, p.Details...)
		return
	}
	if x.s.endpoint == endpointEmbeddings {
		x.parseEmbeddings(&p, root)
		return
	}
	parsed := x.readRequest(&p, root)
	switch {
	case len(p.Details) > 0:
		x.reject(fault.InvalidRequest, p.Details...)
	case !policy.Knows(x.config, parsed.Request.Model, config.ChatModel):
		x.unknownModel(parsed.Request.Model)
	default:
		x.takeRequest(&parsed)
	}
}

// takeRequest keeps what the exchange needs of a request, and its members for targets of their dialect.
func (x *exchange) takeRequest(parsed *api.Parsed) {
	s, r := &x.s, &parsed.Request
	if parsed.PromptTokens == 0 {
		parsed.PromptTokens = r.PromptTokens()
	}
	s.request = request{
		model: r.Model, stream: r.Stream && s.endpoint != endpointComplete, includeUsage: r.IncludeUsage, maxTokens: r.MaxTokens, n: r.N,
		json:         r.Dialect == chat.Native && r.Format.Kind == chat.FormatJSON,
		promptTokens: parsed.PromptTokens, unseenTokens: r.UnseenTokens(), thinking: r.Reasoning.Tokens(),
		params: r.Params(), defaulted: parsed.Defaulted,
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferMembers, Data: parsed.Members})
	x.nameRequest(parsed.Members)
}

// nameRequest makes the cache key. It covers everything that the answer depends on: the request in its
// canonical form and the catalog's version; the project stands in front of the hash. Whether the answer is
// streamed does not matter to it.
func (x *exchange) nameRequest(members []byte) {
	r := &x.s.request
	w := abi.Writer{Buf: make([]byte, 0, 128)}
	w.String(x.config.Version)
	w.Uint(uint64(x.s.dialect))
	embeddings := x.s.endpoint == endpointEmbeddings
	abi.WriteTo(&w).Flags(&embeddings, &x.s.strict)
	w.String(r.model)
	w.String(x.s.beta)
	w.Uint(r.maxTokens)
	h := sha256.New()
	h.Write(w.Buf)
	h.Write(members)
	x.s.cacheKey = keys.Hex(h.Sum(make([]byte, 0, sha256.Size)))
	if x.s.idempotency != "" {
		x.s.bodyHash = x.s.cacheKey
		if r.stream {
			x.s.bodyHash += "/stream"
		}
	}
}

// reread reads the request again, for a target that it has to be translated for.
func (x *exchange) reread(body []byte) chat.Request {
	p := api.Parser{}
	parsed := x.readRequest(&p, gjson.ParseBytes(body))
	parsed.Request.Stream = x.s.request.stream
	return parsed.Request
}

// unknownModel notes a name that the catalog does not have. Which names would do is known with the key's record.
func (x *exchange) unknownModel(name string) {
	x.s.request.model = name
	x.s.bad, x.s.bodyDone = fault.UnknownModel.Code, true
}
