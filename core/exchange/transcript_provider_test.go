package exchange_test

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

const fetchID = 5

// fetch STATUS: a provider's whole answer. Its headers and its body are the input; without a content-type it is JSON.
func (s *story) doFetch(a *args) {
	fetch := s.find(a, kind(abi.ActionFetch))
	event := abi.Event{Kind: abi.EventResponse, Code: status(a, a.word())}
	event.Headers = typed(a.headers(), "application/json")
	event.Data = a.body()
	s.buffers[fetch.Buffer] = event.Data
	s.answer(a, fetch.ID, event)
}

func typed(headers []abi.Header, contentType string) []abi.Header {
	for _, h := range headers {
		if h.Name == "content-type" {
			return headers
		}
	}
	return append(headers, abi.Header{Name: "content-type", Value: contentType})
}

// head STATUS: the head of a provider's stream, with its headers as input.
func (s *story) doHead(a *args) {
	event := abi.Event{Kind: abi.EventHead, Code: status(a, a.word())}
	event.Headers = typed(a.headers(), "text/event-stream")
	s.answer(a, fetchID, event)
}

// chunk [cut]: the next piece of a stream. An empty line is added after every line but those that name an event, as SSE
// has it; and not after the last one of a piece that is cut off there. "{300 words}" stands for a long text.
func (s *story) doChunk(a *args) {
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
	s.answer(a, fetchID, abi.Event{Kind: abi.EventChunk, Data: []byte(text)})
}

var words = regexp.MustCompile(`\{(\d+) words\}`)

func longText(placeholder string) string {
	n, _ := strconv.Atoi(words.FindStringSubmatch(placeholder)[1])
	return strings.TrimSpace(strings.Repeat("word ", n))
}

// end: the provider has closed its stream.
func (s *story) doEnd(a *args) { s.answer(a, fetchID, abi.Event{Kind: abi.EventEnd}) }

var faults = map[string]uint64{
	"connect": abi.FaultConnect, "head": abi.FaultHead, "first-byte": abi.FaultFirstByte, "idle": abi.FaultIdle, "total": abi.FaultTotal,
	"broken": abi.FaultBroken, "too-large": abi.FaultTooLarge, "undelivered": abi.FaultUndelivered,
}

// fault WHICH: a fetch brought no whole answer.
func (s *story) doFault(a *args) {
	code, ok := faults[a.word()]
	if !ok {
		a.fail("there is no such fault")
	}
	s.answer(a, fetchID, abi.Event{Kind: abi.EventFault, Code: code})
}
