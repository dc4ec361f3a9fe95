package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
)

// matchEndpoint finds the endpoint, or returns 404. If the path exists with another method, it returns 405 with the
// Allow header. If the caller asks for a WebSocket, it returns 426. Codex then sends the request again over HTTP at
// once.
func (x *exchange) matchEndpoint(path, method string) (fault.Fault, refusal) {
	x.s.dialect = pathDialect(path)
	for i := range x.rows {
		e := &x.rows[i]
		variable, ok := match(e.path, path)
		if !ok {
			continue
		}
		if e.method != method && !(e.method == "GET" && method == "HEAD") {
			if method == "GET" && strings.EqualFold(x.header("upgrade"), "websocket") {
				return fault.NoWebSocket, refusal{details: []fault.Detail{
					{Field: "upgrade", Message: "must not be websocket; send " + e.method + " " + e.path + " without an Upgrade header"},
				}}
			}
			allow := allowHeader(e.method)
			return fault.MethodNotAllowed, refusal{allow: allow, details: []fault.Detail{
				{Field: "method", Message: "must be " + strings.ReplaceAll(allow, ", ", " or ") + ", got " + api.Quote(method)},
			}}
		}
		x.useEndpoint(endpointID(i))
		x.s.dialect, x.s.variable = e.dialect, variable[:min(len(variable), maxQuery)]
		if e.policy == listsModels && x.header("anthropic-version") != "" {
			x.s.dialect = chat.Anthropic
		}
		return fault.None, refusal{}
	}
	return fault.NotFound, refusal{details: []fault.Detail{x.unknownPath(path)}}
}

// match compares a path with a pattern. A pattern may have one {variable}. It matches the rest of a segment, up to
// the text after the variable. Examples are /v1/batches/{id}/cancel and /v1beta/models/{model}:generateContent. A
// variable at the end of the pattern also matches slashes, because model names may contain them.
func match(pattern, path string) (variable string, ok bool) {
	before, rest, varies := strings.Cut(pattern, "{")
	if !varies {
		return "", pattern == path && pattern != ""
	}
	_, after, _ := strings.Cut(rest, "}")
	if !strings.HasPrefix(path, before) {
		return "", false
	}
	variable, ok = strings.CutSuffix(path[len(before):], after)
	if after != "" && strings.Contains(variable, "/") {
		return "", false
	}
	return variable, ok && variable != ""
}

// unknownPath returns the detail for a path that is not an endpoint. If an endpoint differs only by a missing or
// repeated /v1 or by a trailing slash, the detail suggests it, and the error has that endpoint's format.
func (x *exchange) unknownPath(path string) fault.Detail {
	message, bare := api.Subject(path)+"is not an endpoint; ", barePath(path)
	for i := range x.rows {
		if e := &x.rows[i]; e.listed() && barePath(e.path) == bare {
			x.s.dialect = e.dialect
			return fault.Detail{Field: "path", Message: message + "did you mean " + e.path + "? " + listedAt}
		}
	}
	if strings.HasPrefix(bare, "/responses/") || strings.HasPrefix(bare, "/conversations") {
		x.s.dialect = chat.Responses
		message = "asks for a stored response or conversation, and nothing is stored; " + api.StoreNothing
		return fault.Detail{Field: "path", Message: message}
	}
	return fault.Detail{Field: "path", Message: message + listedAt}
}

const listedAt = "GET / lists the endpoints"

// barePath returns the path without leading /v1 segments and trailing slashes.
func barePath(path string) string {
	for strings.HasPrefix(path, "/v1/") {
		path = path[len("/v1"):]
	}
	return strings.TrimRight(path, "/")
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

const (
	maxQuery   = 1024 // longer queries are ignored; valid ones are much shorter
	maxAddress = 64
	maxAgent   = 100 // in a request's entry in the list of recent requests
)
