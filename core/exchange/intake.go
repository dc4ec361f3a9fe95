package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
)

// RequestHeaders are the caller's headers that a decision depends on.
var RequestHeaders = []string{
	"anthropic-beta", "anthropic-version", "authorization", "cache-control", "content-encoding", "content-length", "content-type",
	"idempotency-key", "x-api-key", "x-postern-strict",
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
	// recordKeepMs is how long an isolate uses a key's record before it asks KV again. (It may be old anyway:
	// the key's meter, which every exchange asks, tells.)
	recordKeepMs = 30_000
	// unknownKeepMs is how long an isolate remembers that there is no such key. A new key is not hurt: nobody
	// could have tried it before it was made.
	unknownKeepMs = 10_000
	// policyKeepMs is how long an isolate keeps a policy. It never changes: another one has another version.
	policyKeepMs = 300_000

	maxQuery   = 1024 // no query of ours is nearly as long
	maxBeta    = 256
	maxAddress = 64
)

// unknownMark stands in host memory where a record would be: there is none.
var unknownMark = []byte{0}

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
		x.welcome()
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
	if !isJSON(x.header("content-type")) {
		x.reject(fault.UnsupportedType, fault.Detail{Field: "Content-Type", Message: "must be application/json"})
		return
	}
	if encoding := strings.TrimSpace(x.header("content-encoding")); encoding != "" && !strings.EqualFold(encoding, "identity") {
		x.reject(fault.UnsupportedType, fault.Detail{Field: "Content-Encoding", Message: "must be identity: send the body uncompressed"})
		return
	}
	if n, ok := parseUint(x.header("content-length")); ok && n > x.config.MaxBodyBytes {
		x.reject(fault.BodyTooLarge)
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

// rejection is the fault that was noted. The zero Fault: none was.
func (x *exchange) rejection() fault.Fault {
	for _, f := range rejections {
		if f.Code == x.s.bad {
			return f
		}
	}
	return fault.Fault{}
}

// takeRecord takes the key's record from memory or KV. KV is not the authority, it only saves a hop: the key's
// meter is asked for what it does not have.
func (x *exchange) takeRecord() {
	switch x.event.Code {
	case abi.OutcomeOK:
		if string(x.event.Data) == string(unknownMark) {
			x.refuse(fault.InvalidKey, refusal{})
			return
		}
		if record, err := doc.DecodeRecord(x.event.Data); err == nil {
			x.s.record, x.s.haveRecord, x.s.known = record, true, true
			x.proceed()
			return
		}
	case abi.OutcomeFailed:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	if wait := x.circuits.GuessWaitMs(x.s.address, x.now); wait > 0 {
		x.refuse(fault.RateLimited, refusal{retryMs: wait})
		return
	}
	x.admit(keymeter.ModeCheck)
	x.enter(phaseKey)
}

// takeKey takes the meter's word on a key without a record: it has one, or there is no such key.
func (x *exchange) takeKey() {
	reply, ok := x.admitReply()
	switch {
	case !ok:
	case reply.Verdict == keymeter.Stale:
		x.adopt(reply.Record)
	case reply.Verdict == keymeter.Unknown, reply.Verdict == keymeter.Inactive:
		x.refuseUnknownKey(reply.Verdict == keymeter.Inactive)
	default:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

// adopt takes a newer record from the key's meter, and starts over with it.
func (x *exchange) adopt(encoded []byte) {
	record, err := doc.DecodeRecord(encoded)
	if x.failedCall(err) {
		return
	}
	s := &x.s
	s.record, s.haveRecord, s.known = record, true, true
	// Nothing that was found in the cache, or is being looked for, need be right under the newer record.
	x.cancel(idKV)
	s.hit = hit{}
	if record.Policy != s.policyVersion {
		s.policyVersion, s.selection, s.order, x.memo = 0, policy.Selection{}, nil, nil
	}
	if x.rejection() == fault.ModelForbidden {
		s.bad = "" // the newer record may allow it
	}
	x.do(abi.Action{
		Kind: abi.ActionWrite, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory, KeepMs: recordKeepMs,
		Body: []abi.Part{{Data: encoded}},
	})
	x.enter(phaseIntake)
	x.proceed()
}

// refuseUnknownKey refuses a key that its meter does not know, or knows as inactive. An inactive one is not
// remembered as unknown: it may be active again any moment.
func (x *exchange) refuseUnknownKey(inactive bool) {
	write := abi.Action{Kind: abi.ActionWrite, Key: doc.RecordKey(x.s.keyHash), Where: abi.WhereMemory}
	if !x.s.known && !inactive {
		x.circuits.Guessed(x.s.address, x.now)
		write.KeepMs, write.Body = unknownKeepMs, []abi.Part{{Data: unknownMark}}
	}
	x.do(write)
	x.refuse(fault.InvalidKey, refusal{})
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

// wantsPolicy says whether the project has a policy that this exchange has still to read: to choose targets, to
// list models, or to name those that the caller may use instead of one that is unknown.
func (x *exchange) wantsPolicy() bool {
	s := &x.s
	if s.record.Policy == 0 || s.policyVersion == s.record.Policy {
		return false
	}
	return s.endpoint.listsModels() || s.endpoint.hasBody() && (s.bad == "" || x.rejection() == fault.UnknownModel)
}

func (x *exchange) readPolicy() {
	x.enter(phasePolicy)
	x.ask(abi.Action{
		Kind: abi.ActionRead, ID: idPolicy, Key: doc.PolicyKey(x.s.record.ProjectID, x.s.record.Policy),
		Where: abi.WhereMemory | abi.WhereKV, KeepMs: policyKeepMs,
	})
}

// takePolicy takes the policy from memory or KV. The project's ledger is asked for one that is not there yet.
func (x *exchange) takePolicy() {
	if x.event.Code == abi.OutcomeOK {
		if p, err := doc.DecodePolicy(x.event.Data); err == nil {
			x.usePolicy(&p)
			return
		}
	}
	x.call(idLedgerPolicy, abi.ClassLedger, x.s.record.ProjectID, ledger.Policy())
}

// takeLedgerPolicy takes the authority's word. One that is older than the key's record is on its way.
func (x *exchange) takeLedgerPolicy() {
	p, err := doc.DecodePolicy(x.event.Data)
	if err == nil && p.Version < x.s.record.Policy {
		err = abi.ErrMalformed
	}
	if x.failedCall(err) {
		return
	}
	if p.Version == x.s.record.Policy {
		x.do(abi.Action{
			Kind: abi.ActionWrite, Key: doc.PolicyKey(x.s.record.ProjectID, p.Version), Where: abi.WhereMemory, KeepMs: policyKeepMs,
			Body: []abi.Part{{Data: x.event.Data}},
		})
	}
	x.usePolicy(&p)
}

// usePolicy keeps of the policy what concerns this exchange, and goes on.
func (x *exchange) usePolicy(p *doc.Policy) {
	s := &x.s
	s.policyVersion, s.order, x.memo = s.record.Policy, nil, nil
	x.enter(phaseIntake)
	switch {
	case !s.endpoint.hasBody():
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferPolicy, Data: x.event.Data})
	case s.bad != "":
		x.rejectModel(x.rejection(), p)
	default:
		s.selection = policy.Select(x.config, p, s.request.model)
		x.keepSealed(p)
		if !x.allowsAny() {
			x.rejectModel(fault.ModelForbidden, p)
		}
	}
	x.proceed()
}

// keepSealed puts the project's own keys for the targets' providers aside.
func (x *exchange) keepSealed(p *doc.Policy) {
	for i := range x.s.selection.Owners {
		if x.s.selection.Owners[i] == "" {
			continue
		}
		if k := policy.Key(p, x.targets()[i].Model); k != nil {
			x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferSealed + uint64(i), Data: k.Sealed})
		}
	}
}

const maxNearest = 10

// rejectModel refuses the model that the caller named, and says which ones would do.
func (x *exchange) rejectModel(f fault.Fault, p *doc.Policy) {
	v := policy.View{Config: x.config, Key: x.s.record.Models, Project: p, Development: x.testMode()}
	kind := config.ChatModel
	if x.s.endpoint == endpointEmbeddings {
		kind = config.EmbeddingModel
	}
	message := "is not in the catalog"
	if f == fault.ModelForbidden {
		message = "is not allowed for this key"
	}
	if names := v.Nearest(x.s.request.model, kind, maxNearest); len(names) > 0 {
		message += "; allowed are " + strings.Join(names, ", ")
	}
	x.reject(f, fault.Detail{Field: "model", Message: message})
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
