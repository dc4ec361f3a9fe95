package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/control"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
)

// RequestHeaders are the request headers that the core reads. Hosts pass no other headers.
var RequestHeaders = []string{
	"accept", "anthropic-beta", "anthropic-version", "authorization", "cache-control", "content-encoding", "content-length",
	"content-type", "idempotency-key", "openai-beta", originatorHeader, "session-id", "session_id", "thread-id", "upgrade", "user-agent",
	"x-api-key", "x-client-request-id", "x-openai-internal-codex-responses-lite", header.Govern, header.Rerun, header.Strict,
	"x-session-affinity", "x-session-id",
}

// ResponseHeaders are the provider's response headers that the core reads.
var ResponseHeaders = []string{"content-type", "retry-after", "retry-after-ms"}

// originatorHeader names the calling program: Codex sends codex_cli_rs, codex_exec and similar values.
const originatorHeader = "originator"

// onRequest handles the head of the request: endpoint, method and key. If the key is malformed, the body is not read.
func (x *exchange) onRequest() {
	s := &x.s
	s.requestID, s.startMs, s.address = x.header(":id"), x.now, x.header(":address")
	s.address = s.address[:min(len(s.address), maxAddress)]
	s.agent = head.Programs(x.header("user-agent"), maxAgent)
	for i, b := range x.event.Data {
		s.seed ^= uint64(b) << (8 * (i % 8))
	}
	s.codex = strings.HasPrefix(x.header(originatorHeader), "codex")
	path := x.header(":path")
	if control.Serves(path) && head.IsWellEscaped(path) && !x.config.ControlOff && !(x.config.DocsOff && control.IsDocs(path)) {
		x.forward(path)
		return
	}
	if f, r := x.matchEndpoint(path, x.header(":method")); f != fault.None {
		x.refuse(f, r)
		return
	}
	if x.endpoint.keyless {
		x.endpoint.serve(x)
		return
	}
	if !x.readCredentials() {
		return
	}
	if query := x.header(":query"); len(query) <= maxQuery {
		s.query = query
	}
	x.enter(phaseIntake)
	x.await(abi.Action{
		Kind: abi.ActionRead, ID: idRecord, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory | abi.WhereKV, KeepMs: recordKeepMs,
	})
	if x.endpoint.body == jsonBody {
		x.checkBodyHead()
	}
}

// readCredentials refuses a request without a key, with a malformed key, or with two different keys.
func (x *exchange) readCredentials() bool {
	key, ambiguous := keys.Choose(strings.TrimSpace(x.header("x-api-key")), x.bearerToken())
	if ambiguous {
		x.refuse(fault.InvalidRequest, refusal{details: []fault.Detail{{Field: "X-API-Key", Message: keys.Ambiguous}}})
		return false
	}
	if key == "" {
		x.refuse(fault.MissingKey, refusal{})
		return false
	}
	if _, _, ok := keys.Parse(key); !ok {
		x.refuse(fault.InvalidKey, refusal{})
		return false
	}
	x.s.keyHash = keys.Hash(key)
	return true
}

func (x *exchange) bearerToken() string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(x.header("authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// checkBodyHead checks the headers that describe the body. If they are valid, checkBodyHead requests the body.
func (x *exchange) checkBodyHead() {
	s := &x.s
	s.cacheControl.noStore, s.cacheControl.noCache, s.cacheControl.maxAge = head.CacheControl(x.header("cache-control"))
	switch strict := x.header(header.Strict); strict {
	case "", "false":
	case "true":
		s.strict = true
	default:
		x.reject(fault.InvalidRequest, fault.Detail{Field: header.Strict, Message: "must be true or false, got " + api.Quote(strict)})
		return
	}
	if !x.readGovernHeader() || !x.readRerunHeader() {
		return
	}
	if !x.readCallerHeaders() {
		return
	}
	if kind := x.header("content-type"); !head.IsJSON(kind) {
		message := "must be application/json, got " + api.Quote(kind)
		if kind == "" {
			message = "is required; send application/json"
		}
		x.reject(fault.UnsupportedType, fault.Detail{Field: "Content-Type", Message: message})
		return
	}
	if encoding := strings.TrimSpace(x.header("content-encoding")); encoding != "" && !strings.EqualFold(encoding, "identity") {
		x.reject(fault.UnsupportedType, fault.Detail{Field: "Content-Encoding", Message: "must be identity, got " + api.Quote(encoding) + "; send the body uncompressed"})
		return
	}
	if n, ok := head.Uint(x.header("content-length")); ok && n > x.config.MaxBodyBytes {
		x.rejectLargeBody()
		return
	}
	x.readIdempotencyKey()
	x.await(abi.Action{Kind: abi.ActionReadBody, ID: idBody, Buffer: bufferBody, Limit: x.config.MaxBodyBytes})
}

// proceed continues once the record and the body have both arrived.
func (x *exchange) proceed() {
	s := &x.s
	switch {
	case !s.haveRecord:
		x.enter(phaseIntake)
	case !x.permitted():
		x.admit(keymeter.ModeCheck)
	case x.endpoint.body != noBody && !s.bodyDone:
		x.enter(phaseIntake)
	case x.needsPolicy():
		x.readPolicy()
	case x.startsInspection():
		x.readForInspection()
	default:
		x.endpoint.admit(x)
	}
}

// readCallerHeaders keeps the caller's headers that providers may get. In strict mode, if no provider may get a
// header, it rejects the request and returns false.
func (x *exchange) readCallerHeaders() bool {
	details := x.readPassed()
	if !x.s.strict || len(details) == 0 {
		return true
	}
	x.reject(fault.InvalidRequest, details...)
	return false
}
