package provider

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
)

var compaction = wire.Family{
	Dialect: chat.Responses, Carries: responses.Carries, Direct: responses.Compact, Whole: responses.Response, Failure: responses.Failure,
}

// Compaction returns what the wire family with a name from the catalog has of OpenAI's API to compact a conversation. Whether a
// provider serves it is in the catalog (config.Provider.Serves): most that speak the Responses API do not.
func Compaction(name string) (f *wire.Family, ok bool) {
	if name != "responses" {
		return &unknown, false
	}
	return &compaction, true
}

// InputTokens does the same for OpenAI's API that counts the tokens of a request.
func InputTokens(name string) (f *wire.Family, ok bool) {
	if name != "responses" {
		return &unknown, false
	}
	return For(name)
}
