package fakeprovider

// Behavior is the server's handling of one request.
//
// Kinds for non-streaming responses and streams:
//
//	answer       a valid response, with Status if set
//	plain        GoodText for any request: no calls, no JSON, no thinking
//	status       Status and the family's error body
//	status-html  Status (default 502) and an HTML page, as from a proxy
//	hold         waits for Release, then responds
//	late-head    waits DelayMs (default 500), then responds
//	hang         never sends a response header
//	drop         closes the connection before a response header
//	silent       sends a response header, but no byte of the body
//	stall        sends half, then nothing until the client disconnects
//	broken       sends half, then resets the connection
//	wrong-type   200 with an HTML page
//	huge         12 MiB of zero bytes
//	endless      content until the client disconnects (white space in a non-streaming response)
//	no-usage     a valid response without usage
//	truncated    half of a non-streaming response, with a matching length; for streams, the same as cut
//	bytewise     flushes each byte separately
//
// Kinds for streams. They leave non-streaming responses valid:
//
//	cut          half of the events, then a clean end
//	malformed    half of the events, one with invalid JSON, then the rest
//	corrupt      like malformed, but a frame of an event stream has a wrong checksum instead
//	error-event  half of the events, then the family's error event
//	error-first  the error event before anything else
//	error-head   the events before any content, then the error event
//	slow         DelayMs between events (default 200)
//	comment      everything the framing allows: byte order mark, comments, unknown fields, CRLF, data on several lines
//	json         a non-streaming response instead of a stream
//	burst        all events in one piece, as from a buffering proxy
//	chatter      only comments, until the client disconnects
//	no-done      everything except the end marker
//	huge-event   one event with 3 MB of text
type Behavior struct {
	Kind    string            `json:"kind"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body replaces the body of a non-streaming response or the entire stream. It is sent unchanged.
	Body string `json:"body,omitempty"`
	// Text replaces the default text of the response.
	Text string `json:"text,omitempty"`

	Family  string `json:"family,omitempty"`  // only for requests of this family (or "embeddings"); empty: any
	DelayMs int    `json:"delayMs,omitempty"` // delay between events; negative: none; 0: the kind's default
	Chunks  int    `json:"chunks,omitempty"`  // number of text pieces in a stream; 0: the default
	Pause   bool   `json:"pause,omitempty"`   // after half of a stream's events, wait for Release
	Finish  string `json:"finish,omitempty"`  // finish reason (stop, tools, length, filter); empty: the default

	rules []Rule // of the session
}

const (
	defaultLateMs = 500
	defaultSlowMs = 200
	unevenEvents  = 100 // at the start of a stream, this many events have a delay of 0 to 2 ms
	hugeEventLen  = 3_000_000
)

func (b *Behavior) delayMs(event int) int {
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

// isWhole reports whether the response is one body even if the request asks for a stream.
func (b *Behavior) isWhole() bool {
	return b.Body != "" || b.Kind == "json" || b.Kind == "huge" || b.Kind == "wrong-type"
}
