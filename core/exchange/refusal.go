package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// refusal is the part of an error response that varies. The Fault is the fixed part.
type refusal struct {
	details  []fault.Detail
	allow    string           // allowed methods, for 405
	retryMs  uint64           // milliseconds until a retry may succeed; 0: no Retry-After
	noRetry  bool             // a retry would also fail; always true for a permanent Fault
	message  jsontext.Escaped // the provider's message, if callers may see it
	findings string           // the Governor's findings as a JSON array
	limit    *api.Limit       // the limit that was exceeded; nil: none
}

// permanent returns the refusal for a permanent Fault, without a Retry-After. message is the provider's public
// message. Only the providers' dialects have a field for it. In the native dialect, the details contain it.
func (x *exchange) permanent(r refusal, message jsontext.Escaped) refusal {
	if x.s.dialect != chat.Native {
		r.details = nil
	}
	return refusal{details: r.details, message: message}
}

// withShortWait omits a provider's Retry-After if it is too long. The wait concerns only one target. Its credentials
// may have no quota left for a day. Another target or key can still serve the next request.
func (r refusal) withShortWait() refusal {
	if r.retryMs > maxWaitMs {
		r.retryMs = 0
	}
	return r
}

// maxWaitMs is the longest Retry-After time, in milliseconds.
const maxWaitMs = 60_000

// sharedFailure describes the failure of a flight that ended with f. If the text of f already does so, the result is
// empty.
func sharedFailure(f fault.Fault) refusal {
	if f.Text() != fault.ProviderError.Text() {
		return refusal{}
	}
	return refusal{details: []fault.Detail{
		{Field: api.ProviderField, Message: "failed; this request shared the response of an identical one"},
	}}
}

// stripControl replaces control characters, including those in Latin-1, with spaces. It replaces invalid UTF-8 with
// U+FFFD.
func stripControl(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return ' '
		}
		return c
	}, text)
}

// printable replaces all characters that a header cannot contain, such as letters in a group's name, with question
// marks.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
}
