package exchange_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
)

// request METHOD PATH[?QUERY] [key=caller|development|project|none]: a request. The input contains additional
// headers.
func (s *session) doRequest(a *args) {
	s.requests++
	s.followers, s.flight.read = 0, 0
	s.conversation = &conversation{}
	s.all = append(s.all, s.conversation)
	method := a.word()
	path, query, _ := strings.Cut(a.word(), "?")
	headers := []abi.Header{
		{Name: ":id", Value: fmt.Sprintf("req_%d", s.requests)}, {Name: ":method", Value: method}, {Name: ":path", Value: path},
		{Name: ":query", Value: query}, {Name: ":address", Value: "192.0.2.1"},
	}
	key := a.text("key", "caller")
	if token, ok := callers[key]; ok {
		headers = append(headers, abi.Header{Name: "authorization", Value: "Bearer " + token})
	} else if key != "none" {
		a.fail("unknown key")
	}
	if method == "POST" {
		headers = append(headers, abi.Header{Name: "content-type", Value: "application/json"})
	}
	given := a.headers()
	for _, h := range given {
		if !strings.HasPrefix(h.Name, ":") && !slices.Contains(exchange.RequestHeaders, h.Name) {
			a.fail("the core does not read the header " + h.Name)
		}
	}
	s.step(abi.Event{Kind: abi.EventRequest, Headers: append(given, headers...), Data: []byte("0123456789abcdef")})
}

// body [too-large|failed]: the request body, which is the input.
func (s *session) doBody(a *args) {
	read := s.find(a, kind(abi.ActionReadBody))
	event := abi.Event{Kind: abi.EventBody}
	switch word := a.word(); word {
	case "":
		event.Data = a.body()
		s.Buffers.Keep(read.Buffer, event.Data)
	default:
		event.Code = outcome(a, word)
	}
	s.reply(a, read.ID, event)
}

func outcome(a *args, word string) uint64 {
	switch word {
	case "absent":
		return abi.OutcomeAbsent
	case "failed":
		return abi.OutcomeFailed
	case "too-large":
		return abi.OutcomeTooLarge
	case "joined":
		return abi.OutcomeJoined
	case "unsupported":
		return abi.OutcomeUnsupported
	case "overloaded":
		return abi.OutcomeOverloaded
	}
	a.fail("unknown outcome " + word)
	return 0
}

// disconnect: the client disconnects.
func (s *session) doDisconnect(*args) {
	s.disconnected = true
	s.step(abi.Event{Kind: abi.EventDisconnect})
}
