// Package provider is the registry of wire families: how each is asked, and how its answers are read.
package provider

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
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

// For finds a family by its name in the catalog. The mock, which is answered in the core, has none.
func For(name string) (f wire.Family, ok bool) {
	switch name {
	case "openai":
		return wire.Family{
			Dialect: chat.OpenAI, Carries: openai.Carries, Request: openai.Request, Direct: openai.Direct, Response: openai.Response,
			Stream: openai.Stream, Failure: openai.Failure, EmbedRequest: openai.EmbedRequest, EmbedResponse: openai.EmbedResponse,
		}, true
	case "responses":
		return wire.Family{
			Dialect: chat.Responses, Carries: responses.Carries, Request: responses.Request, Direct: responses.Direct,
			Response: responses.Response, Stream: responses.Stream, Failure: responses.Failure,
		}, true
	case "anthropic":
		return wire.Family{
			Dialect: chat.Anthropic, Carries: anthropic.Carries, Request: anthropic.Request, Direct: anthropic.Direct,
			Response: anthropic.Response, Stream: anthropic.Stream, Failure: anthropic.Failure,
			CountRequest: anthropic.CountRequest, CountResponse: anthropic.CountResponse,
		}, true
	case "gemini":
		return wire.Family{
			Carries: gemini.Carries, Request: gemini.Request, Response: gemini.Response, Stream: gemini.Stream, Failure: gemini.Failure,
			EmbedRequest: gemini.EmbedRequest, EmbedResponse: gemini.EmbedResponse,
		}, true
	case "azure":
		return wire.Family{
			Dialect: chat.OpenAI, Carries: azure.Carries, Request: azure.Request, Direct: azure.Direct, Response: azure.Response,
			Stream: azure.Stream, Failure: azure.Failure, EmbedRequest: azure.EmbedRequest, EmbedResponse: azure.EmbedResponse,
		}, true
	case "workersai":
		return wire.Family{
			Dialect: chat.OpenAI, Carries: workersai.Carries, Request: workersai.Request, Direct: workersai.Direct,
			Response: workersai.Response, Stream: workersai.Stream, Failure: workersai.Failure,
			EmbedRequest: workersai.EmbedRequest, EmbedResponse: workersai.EmbedResponse,
		}, true
	case "mistral":
		return wire.Family{
			Carries: mistral.Carries, Request: mistral.Request, Response: mistral.Response, Stream: mistral.Stream,
			Failure: mistral.Failure, EmbedRequest: mistral.EmbedRequest, EmbedResponse: mistral.EmbedResponse,
		}, true
	case "bedrock":
		return wire.Family{
			Carries: bedrock.Carries, Framing: wire.EventStream, Request: bedrock.Request, Response: bedrock.Response,
			Stream: bedrock.Stream, Failure: bedrock.Failure, EmbedRequest: bedrock.EmbedRequest, EmbedResponse: bedrock.EmbedResponse,
		}, true
	case "cohere":
		return wire.Family{
			Carries: cohere.Carries, Request: cohere.Request, Response: cohere.Response, Stream: cohere.Stream, Failure: cohere.Failure,
			EmbedRequest: cohere.EmbedRequest, EmbedResponse: cohere.EmbedResponse,
		}, true
	}
	return f, false
}

// Of is a family that speaks a dialect, to read answers of that dialect with.
func Of(d chat.Dialect) wire.Family {
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

// RetryAfterMs reads how long a provider asks to wait: retry-after-ms, else retry-after in seconds or as a date
// (RFC 9110, section 10.2.3). now is Unix milliseconds. 0: it does not say, or the date has passed.
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
