package provider

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Compaction returns what the wire family with a name from the catalog has of OpenAI's API to compact a conversation. Whether a
// provider serves it is in the catalog (config.Provider.Serves): most that speak the Responses API do not.
func Compaction(name string) (f *wire.Family, ok bool) {
	return besideResponses(name, wire.Family{Direct: responses.Compact, Response: responses.Response})
}

// InputTokens does the same for OpenAI's API that counts the tokens of a request.
func InputTokens(name string) (f *wire.Family, ok bool) {
	return besideResponses(name, wire.Family{
		Direct: responses.CountRequest, CountRequest: responses.CountRequest, CountResponse: responses.CountResponse,
	})
}

func besideResponses(name string, f wire.Family) (*wire.Family, bool) {
	if name != "responses" {
		return &wire.Family{}, false
	}
	f.Dialect, f.Carries, f.Failure = chat.Responses, responses.Carries, responses.Failure
	return &f, true
}
