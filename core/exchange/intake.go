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

// RequestHeaders are the caller's headers that a decision depends on.
var RequestHeaders = []string{
	"accept", "anthropic-beta", "anthropic-version", "authorization", "cache-control", "content-encoding", "content-length",
	"content-type", "idempotency-key", "x-api-key", "x-postern-strict",
}

// ResponseHeaders are the provider's.
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
	maxQuery   = 1024 // no query of ours is nearly as long
	maxBeta    = 256
	maxAddress = 64
)

// takeHead takes the request's head: endpoint, method, key. The body is not read before the key parses.
func (x *exchange) takeHead() {
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
	if f, allow := x.match(path, x.header(":method")); f.Status != 0 {
		x.refuse(f, refusal{allow: allow})
		return
	}
	if s.endpoint == endpointRoot {
		x.respondRoot()
		return
	}
	if !x.takeCredentials() {
		return
	}
	if query := x.header(":query"); len(query) <= maxQuery && s.query == "" {
		s.query = query
	}
	x.enter(phaseIntake)
	x.ask(abi.Action{
		Kind: abi.ActionRead, ID: idRecord, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory | abi.WhereKV, KeepMs: recordKeepMs,
	})
	if s.endpoint.hasBody() {
		x.postHead()
	}
}

// takeCredentials refuses a request without a key, and one whose key cannot be one.
func (x *exchange) takeCredentials() bool {
	key, ok := x.key()
	if !ok {
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

// key is the caller's key: X-API-Key, else the bearer token.
func (x *exchange) key() (string, bool) {
	if key := strings.TrimSpace(x.header("x-api-key")); key != "" {
		return key, true
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(x.header("authorization")), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "bearer") && token != ""
}

// postHead checks what a POST's head says of its body, and asks for it if there is no complaint.
func (x *exchange) postHead() {
	s := &x.s
	s.cacheControl = parseCacheControl(x.header("cache-control"))
	s.strict = x.header("x-postern-strict") == "true"
	if beta := x.header("anthropic-beta"); len(beta) <= maxBeta && printable(beta) {
		s.beta = beta
	}
	if kind := x.header("content-type"); !isJSON(kind) {
		x.reject(fault.UnsupportedType, fault.Detail{Field: "Content-Type", Message: "must be application/json, got " + api.Quote(kind)})
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
	if key := x.header("idempotency-key"); key != "" && s.endpoint != endpointCount { // a count is the same each time
		// A wrong one is named together with what is wrong with the body.
		if s.badIdempotency = len(key) > 255 || !printable(key); !s.badIdempotency {
			s.idempotency = keys.Hash(key)
		}
	}
	x.ask(abi.Action{Kind: abi.ActionReadBody, ID: idBody, Buffer: bufferBody, Limit: x.config.MaxBodyBytes})
}

// rejections are the faults of a request that is admitted before it is refused: whoever has no key learns nothing
// of them.
var rejections = []fault.Fault{fault.InvalidRequest, fault.ModelForbidden, fault.UnknownModel, fault.BodyTooLarge, fault.UnsupportedType}

// reject notes what is wrong with the request, to be answered once it is admitted.
func (x *exchange) reject(f fault.Fault, details ...fault.Detail) {
	x.s.bad, x.s.bodyDone = f.Code, true
	if f == fault.BodyTooLarge || f == fault.UnsupportedType {
		x.s.idempotency = "" // the body was not read: there is nothing to compare a repeat with
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferError, Data: x.errorBody(f, refusal{details: details})})
}

func (x *exchange) rejectLargeBody() {
	x.reject(fault.BodyTooLarge, fault.Detail{
		Field: "body", Message: "must be at most " + strconv.FormatUint(x.config.MaxBodyBytes, 10) + " bytes",
	})
}

// rejection is the fault that was noted. The zero Fault: none was.
func (x *exchange) rejection() fault.Fault {
	for _, f := range rejections {
		if f.Code == x.s.bad {
			return f
		}
	}
	return fault.Fault{}
}

// permitted says whether the key opens this endpoint.
func (x *exchange) permitted() bool { return x.s.record.May(x.s.endpoint.row().needs) }

// proceed goes on to the admission when the record and the body are there, in whatever order they came.
func (x *exchange) proceed() {
	s := &x.s
	switch {
	case !s.haveRecord:
	case !x.permitted():
		x.admit(keymeter.ModeCheck)
	case s.endpoint.hasBody() && !s.bodyDone:
	case x.wantsPolicy():
		x.readPolicy()
	case !s.endpoint.hasBody():
		x.admit(keymeter.ModeCheck)
	case s.bad == "" && !x.allowsAny():
		x.rejectModel(fault.ModelForbidden, nil)
		x.admit(keymeter.ModeCount)
	case s.bad != "":
		if x.rejection() == fault.UnknownModel && s.record.Policy == 0 {
			x.rejectModel(fault.UnknownModel, nil)
		}
		x.admit(keymeter.ModeCount)
	case s.endpoint == endpointCount:
		x.admit(keymeter.ModeCount)
	case x.mayRead():
		x.lookInMemory()
	default:
		x.admitCompletion()
	}
}

// call sends a command to an object near the project's region. With id 0 nobody waits for the answer.
func (x *exchange) call(id uint64, class abi.Class, name string, command []byte) {
	a := abi.Action{Kind: abi.ActionCall, ID: id, Class: class, Name: name, Region: x.s.record.Region, Data: command}
	if id == 0 {
		x.do(a)
		return
	}
	x.ask(a)
}

// failedCall answers 503 if an object could not be asked, or its reply cannot be read.
func (x *exchange) failedCall(err error) bool {
	if x.event.Code == abi.OutcomeOK && err == nil {
		return false
	}
	x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	return true
}

// unavailableRetryMs is what callers are told when a part of ours is out.
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

// parseUint reads a decimal number below 2^53.
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
