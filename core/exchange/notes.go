package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// attemptTime is the start of an attempt since the request's arrival, and its duration.
type attemptTime struct{ startMs, durationMs uint64 }

// notes contains data that is only needed to record a request that was not served.
type notes struct {
	details        string // the error's details as in the response; empty: none, or too long
	cause          uint64 // the ledger.Cause of the last failure
	providerStatus uint64 // the status of the last error response from a provider
	providerType   string // the type and code in that response; see wordOf
	providerCode   string
	providerText   string        // the message in that response, for owners; empty: none or not recorded
	times          []attemptTime // of each attempt, in the order of attemptResults
	user           string        // the end user that the request names; empty: none or not recorded
	finish         chat.Finish   // the finish reason of the last response that had one
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

// noteTime notes the start and duration of the current attempt. The attempt ends now.
func (x *exchange) noteTime() {
	start := x.s.times.upstreamStart
	x.s.notes.times = append(x.s.notes.times, attemptTime{start - min(start, x.s.startMs), x.since(start)})
}

// maxNotedDetails limits the length of the details in a record, in bytes.
const maxNotedDetails = 480

// noteRefusal notes the details of a refusal. Details that may contain a provider's text are omitted: the record has
// the provider's status. New details replace those of a rejection that a newer record of the key has lifted.
func (x *exchange) noteRefusal(r refusal) {
	x.s.notes.details = ""
	if x.s.notes.providerStatus == 0 {
		x.noteDetails(r.details)
	}
	if r.limit != nil {
		x.noteDetails([]fault.Detail{r.limit.Detail})
	}
}

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

func (x *exchange) noteProviderError(root gjson.Result, text string) {
	n := &x.s.notes
	n.providerStatus = x.event.Code
	n.providerType, n.providerCode = wordOf(root.Get("error.type").Str), wordOf(root.Get("error.code").Str)
	if n.providerCode == "" {
		n.providerCode = wordOf(root.Get("error.status").Str)
	}
	n.providerText = text
}

// maxWord and maxNumber limit the length of a provider's error code, which is a word such as context_length_exceeded
// or a number such as 1113.
const (
	maxWord   = 64
	maxNumber = 6
)

// wordOf returns text if it is a name without digits or a short number. Otherwise, the text may be part of a prompt
// or a key, and wordOf returns "".
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

// maxUser is the maximum length of an end user's ID in a record.
const maxUser = 64

// noteUser notes the end user that a request names. OpenAI's safety_identifier field takes precedence over its user
// field.
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

// isUserID reports whether text can be a user's ID. An ID is short and consists of printable ASCII characters without
// spaces.
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
