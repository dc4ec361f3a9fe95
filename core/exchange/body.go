package exchange

import (
	"crypto/sha256"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/blake2b"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/policy"
)

// onBody validates and parses the body, and stores its re-encoded members in a buffer.
func (x *exchange) onBody() {
	x.readBody()
	x.proceed()
}

// onEarlyBody parses a body that arrives before the key's permission is known.
func (x *exchange) onEarlyBody() { x.readBody() }

func (x *exchange) readBody() {
	s := &x.s
	switch x.event.Code {
	case abi.OutcomeTooLarge:
		x.rejectLargeBody()
	case abi.OutcomeOK:
		s.bodyDone = true
		x.parse(x.event.Data)
		if s.rejected != "" && s.idempotency != "" {
			sum := sha256.Sum256(x.event.Data)
			s.bodyHash = keys.Hex(sum[:])
		}
	default:
		s.idempotency = ""
		x.reject(fault.InvalidRequest, fault.Detail{Field: "body", Message: "ended early; send the request again"})
	}
}

func (x *exchange) parse(body []byte) {
	p := api.Parser{Skim: true, Strict: x.s.strict}
	x.checkIdempotencyKey(&p)
	if found := jsontext.Examine(body); found.Problem != jsontext.OK {
		message := found.Message(api.Quote)
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
	switch x.s.endpoint {
	case endpointValidate:
		x.parseValidation(&p, root)
		return
	case endpointEmbeddings:
		x.parseEmbeddings(&p, root)
		return
	}
	parsed := x.readRequest(&p, root)
	switch {
	case len(p.Details) > 0:
		x.reject(fault.InvalidRequest, p.Details...)
	case !policy.Knows(x.config, parsed.Request.Model, config.ChatModel):
		x.noteUnknownModel(parsed.Request.Model)
	default:
		x.keepRequest(&parsed)
		x.s.request.foreign, x.s.request.unknown = p.Foreign, appendExtra("", parsed.Unknown)
	}
}

// keepRequest stores the parts of the request that later steps need, and its members for targets of the same
// dialect.
func (x *exchange) keepRequest(parsed *api.Parsed) {
	s, r := &x.s, &parsed.Request
	if parsed.PromptTokens == 0 {
		parsed.PromptTokens = r.PromptTokens()
	}
	s.request = request{
		model: r.Model, stream: r.Stream && s.endpoint != endpointComplete, includeUsage: r.IncludeUsage, maxTokens: r.MaxTokens, n: r.N,
		json:         r.Dialect == chat.Native && r.Format.Kind == chat.FormatJSON,
		promptTokens: parsed.PromptTokens, unseenTokens: r.UnseenTokens(), thinking: r.Reasoning.Tokens(),
		params: r.Params(), defaulted: parsed.Defaulted, bought: boughtBy(r),
	}
	if r.Compacts { // its summary reads the whole conversation once more
		s.request.unseenTokens += 2 * parsed.PromptTokens
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferMembers, Data: parsed.Members})
	x.computeCacheKey(parsed.Members)
}

// maxHashedBytes is the largest number of bytes of a request that are hashed by SHA-256 itself: its blocks would take half the
// time of a step with a large body.
const maxHashedBytes = 16 << 10

// computeCacheKey hashes everything that the response depends on: the canonical request and the catalog version.
// The project ID is a prefix of the key (cacheEntryKey). Whether the response is streamed makes no difference.
func (x *exchange) computeCacheKey(members []byte) {
	r := &x.s.request
	w := abi.Writer{Buf: make([]byte, 0, 128)}
	w.String(x.config.Version)
	request := len(w.Buf) // what follows does not depend on the catalog
	w.Uint(uint64(x.s.dialect))
	embeddings := x.s.endpoint == endpointEmbeddings
	abi.WriteTo(&w).Flags(&embeddings, &x.s.strict)
	w.String(r.model)
	w.String(x.s.beta)
	if b := &r.bought; b.terms != "" || b.maxToolCalls > 0 { // members does not have them
		w.String(b.terms)
		w.Uint(b.maxToolCalls)
	}
	w.Uint(r.maxTokens)
	if len(members) > maxHashedBytes {
		w.String("blake2b")
		sum := blake2b.Sum256(members)
		members = sum[:]
	}
	x.s.cacheKey = hashOf(w.Buf, members)
	if x.s.idempotency != "" {
		x.s.bodyHash = hashOf(w.Buf[request:], members)
		if r.stream {
			x.s.bodyHash += "/stream"
		}
	}
}

func hashOf(head, members []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write(members)
	return keys.Hex(h.Sum(make([]byte, 0, sha256.Size)))
}

// reparse parses the body again to translate it for a target.
func (x *exchange) reparse(body []byte) chat.Request {
	p := api.Parser{}
	parsed := x.readRequest(&p, gjson.ParseBytes(body))
	parsed.Request.Stream = x.streams()
	return parsed.Request
}

// noteUnknownModel records a model name that is not in the catalog. The suggestions in the error message need
// the key's record, which arrives separately.
func (x *exchange) noteUnknownModel(name string) {
	x.s.request.model = name
	x.s.rejected, x.s.bodyDone = fault.UnknownModel.Code, true
}
