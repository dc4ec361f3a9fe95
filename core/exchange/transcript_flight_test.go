package exchange_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/test/interpreter"
)

// recordedFlight contains what a transcript's exchanges have published and landed, for followers later in the file.
type recordedFlight struct {
	pieces [][]byte
	read   int    // the number of pieces that the follower has read
	buffer uint64 // the buffer that grows
	landed []byte
}

func (f *recordedFlight) record(o *abi.Action, buffers interpreter.Buffers) {
	switch {
	case o.Kind == abi.ActionPublish:
		f.buffer = o.Buffer
		f.pieces = [][]byte{slices.Concat(o.Body[0].Data, buffers.Content(o.Buffer))}
	case o.Kind == abi.ActionAppend && o.Buffer == f.buffer:
		f.pieces = append(f.pieces, o.Data)
	case o.Kind == abi.ActionLand:
		if f.buffer = 0; len(o.Data) > 0 {
			f.landed = o.Data
		}
	}
}

// flight more|landed|failed [CODE]|retry|alone: an event from the flight that the exchange follows. "more" delivers
// the next piece that an earlier exchange in the file published. "more all" delivers all pieces that are left.
// "landed" delivers the response with which that exchange landed.
func (s *session) doFlight(a *args) {
	event, f := abi.Event{Kind: abi.EventFlight}, &s.flight
	switch word := a.word(); word {
	case "more":
		n := 1
		if a.flag("all") {
			n = len(f.pieces) - f.read
		}
		if n == 0 || f.read+n > len(f.pieces) {
			a.fail("nothing is left to read")
		}
		event.Data = slices.Concat(f.pieces[f.read : f.read+n]...)
		f.read += n
	case "landed":
		event.Code, event.Data = abi.FlightLanded, f.landed
	case "failed":
		event.Code, event.Data = abi.FlightFailed, []byte(a.word())
	case "retry":
		event.Code = abi.FlightRetry
	case "alone":
		event.Code = abi.FlightAlone
	default:
		a.fail("unknown end of a flight")
	}
	s.reply(a, s.find(a, kind(abi.ActionFollow)).ID, event)
}

// followers N: from now on, N exchanges follow the flight.
func (s *session) doFollowers(a *args) { s.followers = status(a, a.word()) }
