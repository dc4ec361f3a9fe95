package fakeprovider

// Behaviour is what the server does with one request.
//
// Kinds for whole answers and streams alike:
//
//	answer       a good answer, with Status if that is set
//	plain        GoodText, whatever was asked for: no calls, no JSON, no thinking
//	status       Status and the family's own error body
//	status-html  Status (502 if not set) and an HTML page, as from a proxy
//	hold         waits until Release, then answers
//	late-head    waits DelayMs (500 if not set), then answers
//	hang         no response head, ever
//	drop         the connection ends before a response head
//	silent       a head, but no byte of the body
//	stall        half of it, then nothing until the client leaves
//	broken       half of it, then the connection is reset
//	wrong-type   200 with an HTML page
//	huge         12 MiB of zero bytes
//	endless      content for ever, until the client leaves (a whole answer: white space)
//	no-usage     a good answer without any figures
//	truncated    half of a whole answer as if it were all; of a stream the same as cut
//	bytewise     each byte is flushed on its own
//
// Kinds for streams; a whole answer is then a good one:
//
//	cut          half of the events, then a clean end
//	malformed    half of the events, one whose JSON is broken, then the rest
//	corrupt      as malformed, but an event stream's frame has a wrong checksum
//	error-event  half of the events, then the family's own error event
//	error-first  the error event before anything else
//	error-head   the events that carry no content yet, then the error event
//	slow         DelayMs between events (200 if not set)
//	comment      everything the framing allows: byte order mark, comments, unknown fields, CRLF, data on many lines
//	json         a whole answer although a stream was asked for
//	chatter      comments and nothing else, until the client leaves
//	no-done      all but the end mark
//	huge-event   one event with 3 MB of text
type Behaviour struct {
	Kind    string            `json:"kind"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body replaces that of a whole answer, or all of a stream: it is sent as it is.
	Body string `json:"body,omitempty"`

	Family  string `json:"family,omitempty"`  // only for requests of that family (or "embeddings"); empty: of any
	DelayMs int    `json:"delayMs,omitempty"` // between events; 0: 0 to 2 at first, then none; below 0: none
	Chunks  int    `json:"chunks,omitempty"`  // how many pieces of text a stream has; 0: as they come
	Finish  string `json:"finish,omitempty"`  // why the answer ends: stop, tools, length, filter; empty: as it comes
}

const (
	defaultLateMs = 500
	defaultSlowMs = 200
	unevenEvents  = 100 // so many events come with a delay of 0 to 2 ms
	hugeEventLen  = 3_000_000
)

// delayMs is how long to wait before an event.
func (b *Behaviour) delayMs(event int) int {
	switch {
	case event == 0:
		return 0
	case b.DelayMs != 0:
		return max(b.DelayMs, 0)
	case b.Kind == "slow" || b.Kind == "chatter":
		return defaultSlowMs
	case b.Kind == "endless":
		return 1
	case b.Kind == "bytewise" || event >= unevenEvents:
		return 0
	}
	return event % 3
}

// raw says that it is bytes that are sent, even if a stream was asked for.
func (b *Behaviour) raw() bool {
	return b.Body != "" || b.Kind == "json" || b.Kind == "huge" || b.Kind == "wrong-type"
}
