// Package workersai speaks Cloudflare Workers AI by its endpoints of OpenAI's dialect.
// Source: Cloudflare's documentation, "OpenAI compatible API endpoints" and "Errors"
// (developers.cloudflare.com/workers-ai).
package workersai

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries is what chat completions have a place for.
const Carries = openai.Carries

// Request translates a conversation.
func Request(c *wire.Call) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), []abi.Part{{Data: openai.Body(c)}}, openai.Auth(c.Model)...)
}

// Direct sends a body of OpenAI's dialect.
func Direct(c *wire.Call, members abi.Part) abi.Action {
	return wire.Post(url(c.Model, "/chat/completions"), openai.DirectBody(c, members), openai.Auth(c.Model)...)
}

// url is where an operation is: the base URL is https://api.cloudflare.com/client/v4/accounts/ID/ai.
func url(m *config.Model, operation string) string { return m.Provider.BaseURL + "/v1" + operation }
