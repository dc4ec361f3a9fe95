package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
)

// RequestHeaders are the caller's headers that a decision depends on.
var RequestHeaders = []string{
	"anthropic-beta", "anthropic-version", "authorization", "cache-control", "content-encoding", "content-length", "content-type",
	"idempotency-key", "x-api-key", "x-postern-strict",
}

// ResponseHeaders are the provider's.
var ResponseHeaders = []string{"content-type", "retry-after", "retry-after-ms"}

type routeID uint8

const (
	routeNone routeID = iota
	routeComplete
	routeChat
	routeOpenAI
	routeResponses
	routeAnthropic
	routeCount
	routeEmbeddings
	routeModels
	routeModel
	routeUsage
	routeHealth
	routeControl
)

// endpoint is one row of the route table.
type endpoint struct {
	path, method string
	id           routeID
	needs        doc.Permission // of the key; 0: any key
	dialect      chat.Dialect   // of requests, answers and errors
}

// endpoints is the route table: all there is, but for what is forwarded to the control plane. A path that
// ends with a slash stands for all that begin with it.
var endpoints = []endpoint{
	{"/api/ai/complete", "POST", routeComplete, doc.MayComplete, chat.Native},
	{"/api/ai/chat", "POST", routeChat, doc.MayComplete, chat.Native},
	{"/v1/chat/completions", "POST", routeOpenAI, doc.MayComplete, chat.OpenAI},
	{"/v1/responses", "POST", routeResponses, doc.MayComplete, chat.Responses},
	{"/v1/messages", "POST", routeAnthropic, doc.MayComplete, chat.Anthropic},
	{"/v1/messages/count_tokens", "POST", routeCount, doc.MayComplete, chat.Anthropic},
	{"/v1/embeddings", "POST", routeEmbeddings, doc.MayEmbed, chat.OpenAI},
	{"/v1/models", "GET", routeModels, doc.MayListModels, chat.OpenAI},
	{"/v1/models/", "GET", routeModel, doc.MayListModels, chat.OpenAI},
	{"/api/usage", "GET", routeUsage, doc.MaySeeUsage, chat.Native},
	{"/api/health", "GET", routeHealth, 0, chat.Native},
}

func (r routeID) endpoint() endpoint {
	for _, e := range endpoints {
		if e.id == r {
			return e
		}
	}
	return endpoint{}
}

// hasBody: the request has one, of JSON.
func (r routeID) hasBody() bool { return r >= routeComplete && r <= routeEmbeddings }

func (x *exchange) header(name string) string {
	for _, h := range x.event.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// recordKeepMs is how long an isolate uses a key's record before it asks KV again. (It may be old anyway:
// the key's meter, which every exchange asks, tells.)
const recordKeepMs = 30_000

// maxQuery bounds what the state has to hold. No query of ours is nearly as long.
const maxQuery = 1024

const maxBeta = 256

// head takes the request's head: route, method, key. The body is not read before the key parses.
func (x *exchange) head() {
	s := &x.s
	s.requestID, s.startMs, s.address = x.header(":id"), x.now, x.header(":address")
	if len(s.address) > 64 {
		s.address = s.address[:64]
	}
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
	key, ok := x.key()
	if !ok {
		x.refuse(fault.MissingKey, refusal{})
		return
	}
	if _, _, ok := keys.Parse(key); !ok {
		x.refuse(fault.InvalidKey, refusal{})
		return
	}
	s.keyHash = keys.Hash(key)
	if query := x.header(":query"); len(query) <= maxQuery && s.query == "" {
		s.query = query
	}
	x.do(abi.Action{
		Kind: abi.ActionRead, ID: idRecord, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory | abi.WhereKV, KeepMs: recordKeepMs,
	})
	if s.route.hasBody() {
		x.postHead()
	}
}

// match finds the route. A path that another method would find is a 405.
func (x *exchange) match(path, method string) (f fault.Fault, allow string) {
	x.s.dialect = pathDialect(path)
	for _, e := range endpoints {
		if e.path != path && !(strings.HasSuffix(e.path, "/") && strings.HasPrefix(path, e.path) && len(path) > len(e.path)) {
			continue
		}
		if e.method != method {
			return fault.MethodNotAllowed, e.method
		}
		x.s.route, x.s.dialect = e.id, e.dialect
		if x.header("anthropic-version") != "" && (e.id == routeModels || e.id == routeModel) {
			x.s.dialect = chat.Anthropic
		}
		if e.id == routeModel {
			x.s.query = path[len(e.path):min(len(path), len(e.path)+maxQuery)]
		}
		return fault.Fault{}, ""
	}
	return fault.NotFound, ""
}

// pathDialect is what a caller of a path that is not there probably speaks.
func pathDialect(path string) chat.Dialect {
	switch {
	case strings.HasPrefix(path, "/v1/messages"):
		return chat.Anthropic
	case strings.HasPrefix(path, "/v1/"):
		return chat.OpenAI
	}
	return chat.Native
}

// key takes the caller's key: X-API-Key, else the bearer token.
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
		x.reject(fault.UnsupportedType)
		return
	}
	if n, ok := parseUint(x.header("content-length")); ok && n > x.config.MaxBodyBytes {
		x.reject(fault.BodyTooLarge)
		return
	}
	if key := x.header("idempotency-key"); key != "" && s.route != routeCount { // a count is the same each time
		// A wrong one is named together with what is wrong with the body.
		if s.badIdempotency = len(key) > 255 || !printable(key); !s.badIdempotency {
			s.idempotency = keys.Hash(key)
		}
	}
	x.do(abi.Action{Kind: abi.ActionReadBody, ID: idBody, Buffer: bufferBody, Limit: x.config.MaxBodyBytes})
}

// reject notes what is wrong with the request, to be answered once the key is known to be good: whoever
// has no key learns nothing else.
func (x *exchange) reject(f fault.Fault, details ...fault.Detail) {
	x.s.bad, x.s.bodyDone = f.Status, true
	if f == fault.BodyTooLarge || f == fault.UnsupportedType {
		x.s.idempotency = "" // the body was not read: there is nothing to compare a repeat with
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferError, Data: x.errorBody(f, refusal{details: details})})
}

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

func parseCacheControl(text string) cacheControl {
	var c cacheControl
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store":
			c.noStore = true
		case "no-cache":
			c.noCache = true
		case "max-age":
			if n, ok := parseUint(strings.Trim(value, `" `)); ok {
				c.maxAge = n + 1
			}
		}
	}
	return c
}

// isControl says whether a path belongs to the control plane.
func isControl(path string) bool {
	for _, prefix := range []string{"/api/admin", "/dashboard"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}

// wellEscaped says whether every % of a path is followed by two hexadecimal digits. Libraries differ in what
// they make of others.
func wellEscaped(path string) bool {
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			continue
		}
		if i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2]) {
			return false
		}
		i += 2
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// forward hands the request to the control plane, which has its own authentication: nothing is trusted for
// arriving through here.
func (x *exchange) forward(path string) {
	x.s.route = routeControl
	headers := []abi.Header{{Name: "x-request-id", Value: x.s.requestID}}
	if strings.HasSuffix(path, "/providers") || strings.HasSuffix(path, "/routes") {
		headers = append(headers, abi.Header{Name: providersHeader, Value: x.providersJSON()})
	}
	x.do(abi.Action{Kind: abi.ActionForward, ID: idForward, Headers: headers})
}

func (x *exchange) forwarded() {
	if x.event.Kind != abi.EventResponse {
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	x.s.responded = true
	x.log(x.event.Code, "")
}
