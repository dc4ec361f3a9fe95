package exchange

import (
	"crypto/sha256"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/blake2b"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/policy"
)

// onBody validates and parses the body, and stores its re-encoded fields in a buffer.
func (x *exchange) onBody() {
	x.readBody()
	x.proceeds = true
}

func (x *exchange) onEarlyBody() { x.readBody() }

func (x *exchange) readBody() {
	s := &x.s
	switch x.event.Code {
	case abi.OutcomeTooLarge:
		x.rejectLargeBody()
	case abi.OutcomeOK:
		s.bodyDone = true
		x.parse(x.event.Data)
		if s.rejected != fault.None && s.idempotency != "" {
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
	root, ok := p.Body(body)
	if !ok {
		x.reject(fault.InvalidRequest, p.Details...)
		return
	}
	x.endpoint.parse(x, &p, root)
}

func (x *exchange) parseCompletion(p *api.Parser, root gjson.Result) {
	parsed := x.readRequest(p, root)
	x.useParsed(p, &parsed)
}

func (x *exchange) parseCount(p *api.Parser, root gjson.Result) {
	p.Catalog = x.config
	parsed := anthropic.ParseCount(p, root)
	x.useParsed(p, &parsed)
}

//go:noinline
func (x *exchange) useParsed(p *api.Parser, parsed *api.Parsed) {
	x.noteUser(parsed.Request.User, parsed.Request.Extra)
	switch {
	case len(p.Details) > 0:
		x.reject(fault.InvalidRequest, p.Details...)
	case !policy.Knows(x.config, parsed.Request.Model, x.endpoint.api):
		x.noteUnknownModel(parsed.Request.Model)
	default:
		x.keepRequest(parsed)
		q := &x.s.request
		q.foreign, q.own, q.unknown = p.Foreign, p.Own, appendExtra("", parsed.Unknown)
	}
}

// keepRequest stores what later steps need: parts of the request, and the body's fields for targets with the same
// dialect.
func (x *exchange) keepRequest(parsed *api.Parsed) {
	s, r := &x.s, &parsed.Request
	if parsed.PromptTokens == 0 {
		parsed.PromptTokens = r.PromptTokens()
	}
	s.request = request{
		model: r.Model, stream: r.Stream && x.endpoint.streams, includeUsage: r.IncludeUsage,
		Order: bill.OrderOf(r, parsed.PromptTokens), params: r.Params(), defaulted: parsed.Defaulted, question: r.Question(), aliases: parsed.Aliases,
	}
	if r.Dialect == chat.Native {
		s.request.json, s.request.schema = r.Format.Kind != chat.FormatText, r.Format.Schema
	}
	x.keep(bufferMembers, parsed.Members)
	x.computeCacheKey(parsed.Members)
}

// maxHashedBytes is the maximum size in bytes of a body that is hashed with SHA-256 directly. For a larger body,
// SHA-256 would take half of the step's time, so it is first hashed with BLAKE2b.
const maxHashedBytes = 16 << 10

// strictVariant is the bit in the endpoint's variant that marks a strict request.
const strictVariant = 2

// computeCacheKey hashes everything that the response depends on: the canonical request and the catalog version.
// cacheEntryKey adds the project ID as a prefix. Streamed and non-streaming responses have the same key.
func (x *exchange) computeCacheKey(members []byte) {
	r := &x.s.request
	w := abi.Writer{Buf: make([]byte, 0, 128)}
	w.String(x.config.Version)
	request := len(w.Buf) // from here on, nothing depends on the catalog
	w.Uint(uint64(x.s.dialect))
	variant := x.endpoint.calls.variant
	if x.s.strict {
		variant |= strictVariant
	}
	w.Uint(variant)
	w.String(r.model)
	x.hashPassed(&w)
	if b := &r.Bought; b.Terms != "" || b.MaxToolCalls > 0 { // members does not contain these
		w.String(b.Terms)
		w.Uint(b.MaxToolCalls)
	}
	w.Uint(r.MaxTokens)
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
