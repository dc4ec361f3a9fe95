package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
)

// family is the API family of the caller's dialect.
func (x *exchange) family() api.Family {
	switch x.s.dialect {
	case chat.OpenAI:
		return openai.Family()
	case chat.Responses:
		return responses.Family()
	case chat.Anthropic:
		return anthropic.Family
	}
	return native.Family()
}

func (x *exchange) apiError(f fault.Fault, r refusal) *api.Error {
	return &api.Error{Fault: f, RequestID: x.s.requestID, Details: r.details, Message: r.message, Findings: r.findings}
}

// errorBody encodes an error in the caller's dialect.
func (x *exchange) errorBody(f fault.Fault, r refusal) []byte {
	return x.family().Error(nil, x.apiError(f, r))
}

// readRequest parses a body that has passed jsontext.Check.
func (x *exchange) readRequest(p *api.Parser, root gjson.Result) api.Parsed {
	p.Catalog = x.config
	if x.s.endpoint == endpointCount {
		return anthropic.ParseCount(p, root)
	}
	return x.family().Parse(p, root)
}
