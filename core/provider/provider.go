// Package provider is the registry of wire families. A wire family is a provider's API format.
package provider

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/azure"
	"github.com/postern-ai/postern/core/provider/bedrock"
	"github.com/postern-ai/postern/core/provider/cohere"
	"github.com/postern-ai/postern/core/provider/gemini"
	"github.com/postern-ai/postern/core/provider/mistral"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/provider/workersai"
)

var families = [...]struct {
	name string
	wire.Family
}{
	{"openai", wire.Family{
		Dialect: chat.OpenAI, Carries: openai.Carries, Request: openai.Request, Direct: openai.Direct, Whole: openai.Response,
		Event: openai.Stream, Failure: openai.Failure, EmbedRequest: openai.EmbedRequest, EmbedResponse: openai.EmbedResponse,
	}},
	{"responses", wire.Family{
		Dialect: chat.Responses, Carries: responses.Carries, Thinks: responses.Thinks, Request: responses.Request, Direct: responses.Direct,
		Whole: responses.Response, Event: responses.Stream, Failure: responses.Failure,
		CountRequest: responses.CountRequest, CountResponse: responses.CountResponse, Counted: responses.Counted,
	}},
	{"anthropic", wire.Family{
		NoEmpty: true, Dialect: chat.Anthropic, Carries: anthropic.Carries, Thinks: anthropic.Thinks, Request: anthropic.Request, Direct: anthropic.Direct,
		Whole: anthropic.Response, Event: anthropic.Stream, Failure: anthropic.Failure,
		CountRequest: anthropic.CountRequest, CountResponse: anthropic.CountResponse, Counted: anthropic.Counted,
	}},
	{"gemini", wire.Family{
		NoEmpty: true, Carries: gemini.Carries, Thinks: gemini.Thinks, Request: gemini.Request, Whole: gemini.Response, Event: gemini.Stream, Failure: gemini.Failure,
		EmbedRequest: gemini.EmbedRequest, EmbedResponse: gemini.EmbedResponse,
	}},
	{"azure", wire.Family{
		Dialect: chat.OpenAI, Carries: azure.Carries, Request: azure.Request, Direct: azure.Direct, Whole: azure.Response,
		Event: azure.Stream, Failure: azure.Failure, EmbedRequest: azure.EmbedRequest, EmbedResponse: azure.EmbedResponse,
	}},
	{"workersai", wire.Family{
		Dialect: chat.OpenAI, Carries: workersai.Carries, Request: workersai.Request, Direct: workersai.Direct,
		Whole: workersai.Response, Event: workersai.Stream, Failure: workersai.Failure,
		EmbedRequest: workersai.EmbedRequest, EmbedResponse: workersai.EmbedResponse,
	}},
	{"mistral", wire.Family{
		Carries: mistral.Carries, Request: mistral.Request, Whole: mistral.Response, Event: mistral.Stream,
		Failure: mistral.Failure, EmbedRequest: mistral.EmbedRequest, EmbedResponse: mistral.EmbedResponse,
	}},
	{"bedrock", wire.Family{
		NoEmpty: true, Carries: bedrock.Carries, Thinks: anthropic.Thinks, Framing: wire.EventStream, Request: bedrock.Request, Whole: bedrock.Response,
		Event: bedrock.Stream, Failure: bedrock.Failure, EmbedRequest: bedrock.EmbedRequest, EmbedResponse: bedrock.EmbedResponse,
	}},
	{"cohere", wire.Family{
		Carries: cohere.Carries, Request: cohere.Request, Whole: cohere.Response, Event: cohere.Stream, Failure: cohere.Failure,
		EmbedRequest: cohere.EmbedRequest, EmbedResponse: cohere.EmbedResponse,
	}},
}

// unknown is the family for unknown names.
var unknown wire.Family

// For returns the wire family with the given name in the catalog. The mock provider has none, because the core
// answers its requests itself.
func For(name string) (f *wire.Family, ok bool) {
	for i := range families {
		if families[i].name == name {
			return &families[i].Family, true
		}
	}
	return &unknown, false
}

// CheckWires returns an error message if a provider in the configuration has an unknown wire family. Otherwise, it
// returns "".
func CheckWires(c *config.Config) string {
	for i := range c.Providers {
		if message := checkWire(&c.Providers[i]); message != "" {
			return message
		}
	}
	for i := range c.Models {
		m := &c.Models[i]
		if message := checkWire(m.Provider); message != "" {
			return message
		}
		for _, p := range m.Others {
			if message := checkWire(p); message != "" {
				return message
			}
		}
	}
	return ""
}

func checkWire(p *config.Provider) string {
	if _, ok := For(p.Wire); !ok && (p.Wire != config.MockWire || p.Home != "") {
		return "wire of provider " + p.Name + " must be the name of a folder in core/provider, such as openai, got " + `"` + p.Wire[:min(len(p.Wire), 40)] + `"`
	}
	return ""
}

// ForDialect returns the family that parses responses in a caller's dialect.
func ForDialect(d chat.Dialect) *wire.Family {
	name := "openai"
	switch d {
	case chat.Responses:
		name = "responses"
	case chat.Anthropic:
		name = "anthropic"
	}
	f, _ := For(name)
	return f
}

// RetryAfterMs returns the wait that a provider requests, in milliseconds. It reads the retry-after-ms header. If
// there is none, it reads the retry-after header, which has seconds or a date (RFC 9110, section 10.2.3). now is in
// Unix milliseconds. If neither header is valid, or if the date has passed, it returns 0.
func RetryAfterMs(ms, after string, now uint64) uint64 {
	if n, err := strconv.ParseFloat(strings.TrimSpace(ms), 64); err == nil && n > 0 && n < 1e12 {
		return uint64(n)
	}
	after = strings.TrimSpace(after)
	if n, err := strconv.ParseFloat(after, 64); err == nil && n > 0 && n < 1e9 {
		return uint64(n * 1000)
	}
	if date, ok := calendar.ParseHTTPDate(after); ok && date > now {
		return date - now
	}
	return 0
}
