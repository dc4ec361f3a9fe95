// Package workersai implements the client side of the OpenAI-compatible endpoints of Cloudflare Workers AI. Source:
// Cloudflare's documentation, "OpenAI compatible API endpoints" and "Errors" (developers.cloudflare.com/workers-ai).
package workersai

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that chat completions support.
const Carries = openai.Carries

// Request builds a chat completion request from a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), []abi.Part{{Data: openai.Body(c)}}, openai.Auth(c.Model)...)
}

// Direct builds a chat completion request from a body in OpenAI's dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), openai.DirectBody(c, members), openai.Auth(c.Model)...)
}

// url returns the URL of an operation. The base URL is https://api.cloudflare.com/client/v4/accounts/ID/ai.
func url(m *config.Model, operation string) string { return m.Provider.BaseURL + "/v1" + operation }
