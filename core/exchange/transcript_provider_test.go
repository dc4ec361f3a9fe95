package exchange_test

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

const (
	fetchID    = 5
	classifyID = 19
)

// fetch STATUS: a provider's non-streaming response. The input contains its headers and body. The default content
// type is JSON.
func (s *session) doFetch(a *args) {
	s.doResponse(a, fetchID)
}

// classifier STATUS, classifier fault WHICH: the classifier's response, with headers and body as input, or its
// failure.
func (s *session) doClassifier(a *args) {
	if a.flag("fault") {
		s.reply(a, classifyID, abi.Event{Kind: abi.EventFault, Code: faultOf(a)})
		return
	}
	s.doResponse(a, classifyID)
}

func (s *session) doResponse(a *args, id uint64) {
	fetch := s.find(a, func(o *abi.Action) bool { return o.Kind == abi.ActionFetch && o.ID == id })
	event := abi.Event{Kind: abi.EventResponse, Code: status(a, a.word())}
	event.Headers = withContentType(a.headers(), "application/json")
	event.Data = a.body()
	s.Buffers.Keep(fetch.Buffer, event.Data)
	s.reply(a, fetch.ID, event)
}

func withContentType(headers []abi.Header, contentType string) []abi.Header {
	for _, h := range headers {
		if h.Name == "content-type" {
			return headers
		}
	}
	return append(headers, abi.Header{Name: "content-type", Value: contentType})
}

// head STATUS: the head of a provider's stream. The input contains its headers.
func (s *session) doHead(a *args) {
	event := abi.Event{Kind: abi.EventHead, Code: status(a, a.word())}
	event.Headers = withContentType(a.headers(), "text/event-stream")
	s.reply(a, fetchID, event)
}

// chunk [cut]: the next chunk of a stream. As in SSE, an empty line follows every line except "event:" lines. With
// "cut", no empty line follows the last line. "{300 words}" is replaced with 300 words of text.
func (s *session) doChunk(a *args) {
	var data strings.Builder
	for _, line := range a.input {
		data.WriteString(words.ReplaceAllStringFunc(line, longText) + "\n")
		if !strings.HasPrefix(line, "event:") {
			data.WriteString("\n")
		}
	}
	a.input = nil
	text := data.String()
	if a.flag("cut") {
		text = strings.TrimRight(text, "\n")
	}
	s.reply(a, fetchID, abi.Event{Kind: abi.EventChunk, Data: []byte(text)})
}

var words = regexp.MustCompile(`\{(\d+) words\}`)

func longText(placeholder string) string {
	n, _ := strconv.Atoi(words.FindStringSubmatch(placeholder)[1])
	return strings.TrimSpace(strings.Repeat("word ", n))
}

// end: the provider closes its stream.
func (s *session) doEnd(a *args) { s.reply(a, fetchID, abi.Event{Kind: abi.EventEnd}) }

var faults = map[string]uint64{
	"connect": abi.FaultConnect, "head": abi.FaultHead, "first-byte": abi.FaultFirstByte, "idle": abi.FaultIdle, "total": abi.FaultTotal,
	"broken": abi.FaultBroken, "too-large": abi.FaultTooLarge, "undelivered": abi.FaultUndelivered,
	"cut": abi.FaultCut, "closing": abi.FaultClosing,
}

// fault WHICH: a fetch fails without a complete response.
func (s *session) doFault(a *args) {
	s.reply(a, fetchID, abi.Event{Kind: abi.EventFault, Code: faultOf(a)})
}

func faultOf(a *args) uint64 {
	code, ok := faults[a.word()]
	if !ok {
		a.fail("unknown fault")
	}
	return code
}
