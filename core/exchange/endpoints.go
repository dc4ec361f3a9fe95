package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

type endpointID uint8

const (
	endpointNone endpointID = iota
	endpointComplete
	endpointChat
	endpointOpenAI
	endpointResponses
	endpointAnthropic
	endpointCount
	endpointValidate
	endpointEmbeddings
	endpointModels
	endpointModel
	endpointUsage
	endpointHealth
	endpointRoot
	endpointControl
)

// endpoint is one row of the endpoint table.
type endpoint struct {
	path, method string
	id           endpointID
	needs        doc.Permission // required of the key; 0: any key
	dialect      chat.Dialect   // of requests, responses and errors
}

// endpoints lists the endpoints that the core handles itself; others belong to the control plane or do not exist.
// A path with a trailing slash matches every path below it. HEAD is allowed where GET is.
var endpoints = []endpoint{
	{"/api/ai/complete", "POST", endpointComplete, doc.MayComplete, chat.Native},
	{"/api/ai/chat", "POST", endpointChat, doc.MayComplete, chat.Native},
	{"/v1/chat/completions", "POST", endpointOpenAI, doc.MayComplete, chat.OpenAI},
	{"/v1/responses", "POST", endpointResponses, doc.MayComplete, chat.Responses},
	{"/v1/messages", "POST", endpointAnthropic, doc.MayComplete, chat.Anthropic},
	{"/v1/messages/count_tokens", "POST", endpointCount, doc.MayComplete, chat.Anthropic},
	{"/api/governor/validate", "POST", endpointValidate, doc.MayValidate, chat.Native},
	{"/v1/embeddings", "POST", endpointEmbeddings, doc.MayEmbed, chat.OpenAI},
	{"/v1/models", "GET", endpointModels, doc.MayListModels, chat.OpenAI},
	{"/v1/models/", "GET", endpointModel, doc.MayListModels, chat.OpenAI},
	{"/api/usage", "GET", endpointUsage, doc.MaySeeUsage, chat.Native},
	{"/api/health", "GET", endpointHealth, 0, chat.Native},
	{rootPath, "GET", endpointRoot, 0, chat.Native},
}

const (
	// rootPath is the only endpoint here that needs no key.
	rootPath = "/"
	// openAPIPath is the path of the API description. The control plane serves it.
	openAPIPath = "/openapi.yaml"
)

func (id endpointID) row() endpoint {
	for _, e := range endpoints {
		if e.id == id {
			return e
		}
	}
	return endpoint{}
}

// hasBody reports whether requests have a JSON body.
func (id endpointID) hasBody() bool { return id >= endpointComplete && id <= endpointEmbeddings }

// repeatable reports whether a request has no effect that a repeat would have again, so that an Idempotency-Key is
// ignored.
func (id endpointID) repeatable() bool { return id == endpointCount || id == endpointValidate }

// listsModels reports whether the response is made from the catalog and the project's policy.
func (id endpointID) listsModels() bool { return id == endpointModels || id == endpointModel }

// matchEndpoint sets the endpoint, or returns 404. If the path exists with another method, it returns 405 and the Allow
// header.
func (x *exchange) matchEndpoint(path, method string) (fault.Fault, refusal) {
	x.s.dialect = pathDialect(path)
	for _, e := range endpoints {
		if !e.matches(path) {
			continue
		}
		if e.method != method && !(e.method == "GET" && method == "HEAD") {
			allow := allowHeader(e.method)
			return fault.MethodNotAllowed, refusal{allow: allow, details: []fault.Detail{
				{Field: "method", Message: "must be " + strings.ReplaceAll(allow, ", ", " or ") + ", got " + api.Quote(method)},
			}}
		}
		x.s.endpoint, x.s.dialect = e.id, e.dialect
		if x.header("anthropic-version") != "" && e.id.listsModels() {
			x.s.dialect = chat.Anthropic
		}
		if e.id == endpointModel {
			x.s.query = path[len(e.path):min(len(path), len(e.path)+maxQuery)]
		}
		return fault.Fault{}, refusal{}
	}
	return fault.NotFound, refusal{details: []fault.Detail{unknownPath(path)}}
}

// unknownPath is the detail for a path that is not an endpoint. It suggests the endpoint that differs only in a missing
// or repeated /v1, or a trailing slash.
func unknownPath(path string) fault.Detail {
	message := api.Subject(path) + "is not an endpoint; "
	for _, e := range endpoints {
		if e.listed() && barePath(e.path) == barePath(path) {
			message += "did you mean " + e.path + "? "
		}
	}
	return fault.Detail{Field: "path", Message: message + "GET / lists the endpoints"}
}

// barePath is a path without leading /v1 segments and trailing slashes.
func barePath(path string) string {
	for strings.HasPrefix(path, "/v1/") {
		path = path[len("/v1"):]
	}
	return strings.TrimRight(path, "/")
}

// matches reports whether path is the endpoint's, or below it if the endpoint's has a trailing slash.
func (e *endpoint) matches(path string) bool {
	if e.path != rootPath && strings.HasSuffix(e.path, "/") {
		return strings.HasPrefix(path, e.path) && len(path) > len(e.path)
	}
	return e.path == path
}

func allowHeader(method string) string {
	if method == "GET" {
		return "GET, HEAD"
	}
	return method
}

// pathDialect guesses the caller's dialect from an unknown path.
func pathDialect(path string) chat.Dialect {
	switch {
	case strings.HasPrefix(path, "/v1/messages"):
		return chat.Anthropic
	case strings.HasPrefix(path, "/v1/"):
		return chat.OpenAI
	}
	return chat.Native
}

// isControl reports whether a path belongs to the control plane.
func isControl(path string) bool {
	if path == openAPIPath {
		return true
	}
	for _, prefix := range []string{"/api/admin", "/dashboard", "/api/violations", "/api/models-registry", "/api/compliance"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}

// wellEscaped reports whether two hexadecimal digits follow every % of a path. Libraries disagree about other
// paths.
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
