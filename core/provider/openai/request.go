// Package openai speaks OpenAI's chat completions, as many other servers do too.
// Source: OpenAI's API reference, "Create chat completion" (platform.openai.com/docs/api-reference/chat).
package openai

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Request makes the call. The messages are sent from their buffer, as they stand.
func Request(m *config.Model, p *wire.Params) abi.Action {
	before := jsontext.AppendString(append(make([]byte, 0, 128), `{"model":`...), m.Upstream)
	before = append(before, `,"messages":`...)
	after := append(make([]byte, 0, 128), `,"`...)
	after = append(after, m.MaxTokensField...)
	after = append(after, `":`...)
	after = strconv.AppendUint(after, p.MaxTokens, 10)
	if !m.FixedTemperature {
		after = append(after, `,"temperature":`...)
		after = append(after, p.Temperature...)
	}
	if p.JSON {
		after = append(after, `,"response_format":{"type":"json_object"}`...)
	}
	after = append(after, '}')
	headers := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "accept", Value: "application/json"}}
	if m.Provider.Key != "" {
		headers = append(headers, abi.Header{Name: "authorization", Value: "Bearer " + m.Provider.Key})
	}
	return abi.Action{
		Method: "POST", URL: m.Provider.BaseURL + "/chat/completions", Headers: headers,
		Body: []abi.Part{{Data: before}, p.Messages, {Data: after}},
	}
}

// Dropped names what Request leaves out: reasoning models refuse a temperature.
func Dropped(m *config.Model) string {
	if m.FixedTemperature {
		return "temperature"
	}
	return ""
}
