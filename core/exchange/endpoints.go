package exchange

import (
	"strings"

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
	needs        doc.Permission // of the key; 0: any key
	dialect      chat.Dialect   // of requests, answers and errors
}

// endpoints is the endpoint table: all that is answered here, and not forwarded to the control plane. A path that
// ends with a slash stands for all that begin with it. HEAD is answered where GET is.
var endpoints = []endpoint{
	{"/api/ai/complete", "POST", endpointComplete, doc.MayComplete, chat.Native},
	{"/api/ai/chat", "POST", endpointChat, doc.MayComplete, chat.Native},
	{"/v1/chat/completions", "POST", endpointOpenAI, doc.MayComplete, chat.OpenAI},
	{"/v1/responses", "POST", endpointResponses, doc.MayComplete, chat.Responses},
	{"/v1/messages", "POST", endpointAnthropic, doc.MayComplete, chat.Anthropic},
	{"/v1/messages/count_tokens", "POST", endpointCount, doc.MayComplete, chat.Anthropic},
	{"/v1/embeddings", "POST", endpointEmbeddings, doc.MayEmbed, chat.OpenAI},
	{"/v1/models", "GET", endpointModels, doc.MayListModels, chat.OpenAI},
	{"/v1/models/", "GET", endpointModel, doc.MayListModels, chat.OpenAI},
	{"/api/usage", "GET", endpointUsage, doc.MaySeeUsage, chat.Native},
	{"/api/health", "GET", endpointHealth, 0, chat.Native},
	{rootPath, "GET", endpointRoot, 0, chat.Native},
}

const (
	// rootPath is the one endpoint here that needs no key.
	rootPath = "/"
	// openAPIPath is the description of the API, which the control plane serves.
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

// hasBody: the request has one, of JSON.
func (id endpointID) hasBody() bool { return id >= endpointComplete && id <= endpointEmbeddings }

// listsModels: the endpoint is answered from the catalog and the project's policy.
func (id endpointID) listsModels() bool { return id == endpointModels || id == endpointModel }

// match finds the endpoint. A path that another method would find is a 405.
func (x *exchange) match(path, method string) (f fault.Fault, allow string) {
	x.s.dialect = pathDialect(path)
	for _, e := range endpoints {
		if e.path != path && !e.under(path) {
			continue
		}
		if e.method != method && !(e.method == "GET" && method == "HEAD") {
			return fault.MethodNotAllowed, allowed(e.method)
		}
		x.s.endpoint, x.s.dialect = e.id, e.dialect
		if x.header("anthropic-version") != "" && e.id.listsModels() {
			x.s.dialect = chat.Anthropic
		}
		if e.id == endpointModel {
			x.s.query = path[len(e.path):min(len(path), len(e.path)+maxQuery)]
		}
		return fault.Fault{}, ""
	}
	return fault.NotFound, ""
}

// under says whether a path is below an endpoint that stands for all such paths.
func (e *endpoint) under(path string) bool {
	return e.path != rootPath && strings.HasSuffix(e.path, "/") && strings.HasPrefix(path, e.path)
}

func allowed(method string) string {
	if method == "GET" {
		return "GET, HEAD"
	}
	return method
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

// isControl says whether a path belongs to the control plane.
func isControl(path string) bool {
	if path == openAPIPath {
		return true
	}
	for _, prefix := range []string{"/api/admin", "/dashboard"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}

// wellEscaped says whether every % of a path is followed by two hexadecimal digits. Libraries differ in how they
// read others.
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
