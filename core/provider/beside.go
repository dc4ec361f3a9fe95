package provider

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
)

var compaction = wire.Family{
	Dialect: chat.Responses, Carries: responses.Carries, Direct: responses.Compact, Whole: responses.Response, Failure: responses.Failure,
}

// Compaction returns the family for OpenAI's API that compacts conversations. name is that of a wire family in the
// catalog. If this wire family does not have the API, ok is false. Most providers with the Responses API do not have
// it, so the catalog states whether a provider serves it (config.Provider.Serves).
func Compaction(name string) (f *wire.Family, ok bool) {
	if name != "responses" {
		return &unknown, false
	}
	return &compaction, true
}

// InputTokens is like Compaction, for OpenAI's API that counts a request's tokens.
func InputTokens(name string) (f *wire.Family, ok bool) {
	if name != "responses" {
		return &unknown, false
	}
	return For(name)
}
