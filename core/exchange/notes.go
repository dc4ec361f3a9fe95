package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// attemptTime is when an attempt began, from the request's arrival, and how long it took.
type attemptTime struct{ startMs, durationMs uint64 }

// notes are what only the record of a request that was not served tells.
type notes struct {
	details        string // of the error, as in its response; empty: none, or too long
	cause          uint64 // ledger.Cause of the last failure
	providerStatus uint64 // of the last error response of a provider
	providerType   string // the error's type and code in it, if they are words
	providerCode   string
	providerText   string        // its message, for owners; empty: none, or the project does not record it
	times          []attemptTime // by attempt, in the order of attemptResults
	user           string        // the caller's end user, as the request names it; empty: it names none, or one that is not recorded
	finish         chat.Finish   // of the last response that had one
}

func (n *notes) fields(f *abi.Fields) {
	f.String(&n.details)
	f.String(&n.user)
	abi.Enum(f, &n.finish)
	if f.Group(len(n.times) > 0) {
		f.Uint(&n.cause)
		f.Uint(&n.providerStatus)
		f.String(&n.providerType)
		f.String(&n.providerCode)
		f.String(&n.providerText)
		abi.List(f, &n.times, func(f *abi.Fields, t *attemptTime) {
			f.Uint(&t.startMs)
			f.Uint(&t.durationMs)
		})
	}
}

// noteTime notes when the current attempt began and that it ends now.
func (x *exchange) noteTime() {
	start := x.s.times.upstreamStart
	x.s.notes.times = append(x.s.notes.times, attemptTime{start - min(start, x.s.startMs), x.since(start)})
}

// maxNotedDetails bounds the details that a record repeats.
const maxNotedDetails = 480

// noteRefusal notes the details of a refusal, unless they may have a provider's text: the record has its status. They replace those of
// a rejection that a newer record of the key has lifted.
func (x *exchange) noteRefusal(r refusal) {
	x.s.notes.details = ""
	if x.s.notes.providerStatus == 0 {
		x.noteDetails(r.details)
	}
	if r.limit != nil {
		x.noteDetails([]fault.Detail{r.limit.Detail})
	}
}

// noteDetails notes the details of an error for the record.
func (x *exchange) noteDetails(details []fault.Detail) {
	if len(details) == 0 {
		return
	}
	if text := detailsJSON(details); len(text) <= maxNotedDetails {
		x.s.notes.details = text
	} else if text = detailsJSON(details[:1]); len(text) <= maxNotedDetails {
		x.s.notes.details = text
	}
}

// noteProviderError notes what a provider's error response says; text is what recordedText has left of its message.
func (x *exchange) noteProviderError(root gjson.Result, text string) {
	n := &x.s.notes
	n.providerStatus = x.event.Code
	n.providerType, n.providerCode = wordOf(root.Get("error.type").Str), wordOf(root.Get("error.code").Str)
	if n.providerCode == "" {
		n.providerCode = wordOf(root.Get("error.status").Str)
	}
	n.providerText = text
}

// maxWord and maxNumber bound what a provider calls its error: a name such as context_length_exceeded, or a number such as 1113.
const (
	maxWord   = 64
	maxNumber = 6
)

// wordOf is a text if it is a name without digits, or a short number, and else empty: it may be a prompt or a part of a key.
func wordOf(text string) string {
	digits := 0
	for i := 0; i < len(text); i++ {
		if text[i] >= '0' && text[i] <= '9' {
			digits++
		}
	}
	name, number := digits == 0 && len(text) <= maxWord && head.IsWord(text), digits == len(text) && digits <= maxNumber
	if !name && !number {
		return ""
	}
	return text
}

// maxUser bounds the ID of an end user that a record repeats.
const maxUser = 64

// noteUser notes the end user that a request names. OpenAI's safety_identifier replaces its user.
func (x *exchange) noteUser(user jsontext.Escaped, extra []chat.Member) {
	if x.s.govern.inspected {
		return // a body with placeholders
	}
	id := user.Plain()
	for i := range extra {
		if extra[i].Name == safetyIdentifier {
			id = gjson.Parse(extra[i].Value).Str
		}
	}
	if x.s.notes.user = ""; isUserID(id) {
		x.s.notes.user = id
	}
}

const safetyIdentifier = "safety_identifier"

// isUserID reports whether a text is short and of printable ASCII without spaces, as the ID of a user is.
func isUserID(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return len(text) <= maxUser
}

func detailsJSON(details []fault.Detail) string {
	var b jsontext.Builder
	b.Open('[')
	for _, d := range details {
		b.Open('{')
		b.StringMember("field", d.Field)
		b.StringMember("message", d.Message)
		b.Close('}')
	}
	b.Close(']')
	return string(b.B)
}
