package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
)

// RequestHeaders are the request headers that the core reads. Hosts pass only these.
var RequestHeaders = []string{
	"accept", "anthropic-beta", "anthropic-version", "authorization", "cache-control", "content-encoding", "content-length",
	"content-type", "idempotency-key", "x-api-key", governHeader, rerunHeader, "x-postern-strict",
}

// ResponseHeaders are the provider's response headers that the core reads.
var ResponseHeaders = []string{"content-type", "retry-after", "retry-after-ms"}

func (x *exchange) header(name string) string {
	for _, h := range x.event.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

const (
	maxQuery   = 1024 // longer queries are ignored; no valid one comes close
	maxAddress = 64
)

// onRequest takes the request head: endpoint, method, key. The body is read only if the key is well-formed.
func (x *exchange) onRequest() {
	s := &x.s
	s.requestID, s.startMs, s.address = x.header(":id"), x.now, x.header(":address")
	s.address = s.address[:min(len(s.address), maxAddress)]
	for i, b := range x.event.Data {
		s.seed ^= uint64(b) << (8 * (i % 8))
	}
	path := x.header(":path")
	if isControl(path) && wellEscaped(path) && !x.config.ControlOff {
		x.forward(path)
		return
	}
	if f, r := x.matchEndpoint(path, x.header(":method")); f.Status != 0 {
		x.refuse(f, r)
		return
	}
	if s.endpoint == endpointRoot {
		x.respondRoot()
		return
	}
	if !x.readCredentials() {
		return
	}
	if query := x.header(":query"); len(query) <= maxQuery && s.query == "" {
		s.query = query
	}
	x.enter(phaseIntake)
	x.await(abi.Action{
		Kind: abi.ActionRead, ID: idRecord, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory | abi.WhereKV, KeepMs: recordKeepMs,
	})
	if s.endpoint.hasBody() {
		x.checkBodyHead()
	}
}

// readCredentials refuses a request without a key, with a malformed one, or with two different ones.
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

// bearerToken is the token of the Authorization header, or empty.
func (x *exchange) bearerToken() string {
	scheme, token, _ := strings.Cut(strings.TrimSpace(x.header("authorization")), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// checkBodyHead checks the headers that describe the body. If they are valid, it requests the body.
func (x *exchange) checkBodyHead() {
	s := &x.s
	s.cacheControl = parseCacheControl(x.header("cache-control"))
	switch strict := x.header("x-postern-strict"); strict {
	case "", "false":
	case "true":
		s.strict = true
	default:
		x.reject(fault.InvalidRequest, fault.Detail{Field: "x-postern-strict", Message: "must be true or false, got " + api.Quote(strict)})
		return
	}
	if !x.readGovernHeader() || !x.readRerunHeader() {
		return
	}
	if !x.readBetas() {
		return
	}
	if kind := x.header("content-type"); !isJSON(kind) {
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
	if n, ok := parseUint(x.header("content-length")); ok && n > x.config.MaxBodyBytes {
		x.rejectLargeBody()
		return
	}
	x.readIdempotencyKey()
	x.await(abi.Action{Kind: abi.ActionReadBody, ID: idBody, Buffer: bufferBody, Limit: x.config.MaxBodyBytes})
}

// rejections are the faults that are returned only after admission, so that callers without a valid key learn
// nothing about their request.
var rejections = []fault.Fault{
	fault.InvalidRequest, fault.ModelForbidden, fault.UnknownModel, fault.BodyTooLarge, fault.UnsupportedType, fault.Blocked, fault.Forbidden,
}

// reject records an error in the request. It is returned after admission.
func (x *exchange) reject(f fault.Fault, details ...fault.Detail) {
	x.s.rejected, x.s.bodyDone = f.Code, true
	if f == fault.BodyTooLarge || f == fault.UnsupportedType {
		x.s.idempotency = "" // the body was not read, so a repeat cannot be compared with it
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferError, Data: x.errorBody(f, refusal{details: details})})
}

// rejectLargeBody rejects a body above the size limit.
func (x *exchange) rejectLargeBody() {
	x.reject(fault.BodyTooLarge, fault.Detail{
		Field: "body", Message: "must be at most " + strconv.FormatUint(x.config.MaxBodyBytes, 10) + " bytes",
	})
}

// rejection is the recorded fault, or the zero Fault.
func (x *exchange) rejection() fault.Fault {
	for _, f := range rejections {
		if f.Code == x.s.rejected {
			return f
		}
	}
	return fault.Fault{}
}

// permitted reports whether the key has the permission for this endpoint.
func (x *exchange) permitted() bool { return x.s.record.May(x.s.endpoint.row().needs) }

// proceed continues once the record and the body have arrived, in either order.
func (x *exchange) proceed() {
	s := &x.s
	switch {
	case !s.haveRecord:
	case !x.permitted():
		x.admit(keymeter.ModeCheck)
	case s.endpoint.hasBody() && !s.bodyDone:
	case x.needsPolicy():
		x.readPolicy()
	case x.startsInspection():
		x.readForInspection()
	case !s.endpoint.hasBody():
		x.admit(keymeter.ModeCheck)
	case s.endpoint == endpointValidate:
		x.admit(keymeter.ModeCount)
	case s.rejected == "" && !x.allowsAny():
		x.rejectModel(fault.ModelForbidden, nil)
		x.admit(keymeter.ModeCount)
	case s.rejected != "":
		if x.rejection() == fault.UnknownModel && s.record.Policy == 0 {
			x.rejectModel(fault.UnknownModel, nil)
		}
		x.admit(keymeter.ModeCount)
	case s.endpoint == endpointCount:
		x.admit(keymeter.ModeCount)
	case x.cacheReadable():
		x.readMemoryCache()
	default:
		x.admitCompletion()
	}
}

// call sends a command to an object near the project's region. With id 0 the exchange does not wait for the reply.
func (x *exchange) call(id uint64, class abi.Class, name string, command []byte) {
	a := abi.Action{Kind: abi.ActionCall, ID: id, Class: class, Name: name, Region: x.s.record.Region, Data: command}
	if id == 0 {
		x.do(a)
		return
	}
	x.await(a)
}

// refuseFailedCall refuses the request with 503 if the object call failed or its reply cannot be decoded, and
// returns true.
func (x *exchange) refuseFailedCall(err error) bool {
	if x.event.Code == abi.OutcomeOK && err == nil {
		return false
	}
	x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	return true
}

// unavailableRetryMs is the Retry-After when one of our own dependencies is unavailable.
const unavailableRetryMs = 1000

func printable(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/json")
}

// parseUint parses a decimal number of at most 15 digits, which is below 2^53.
func parseUint(text string) (uint64, bool) {
	if text == "" || len(text) > 15 {
		return 0, false
	}
	var n uint64
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(text[i]-'0')
	}
	return n, true
}
