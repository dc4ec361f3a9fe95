package live

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/governor"
)

// Bounds of a stream's state.
const (
	// MaxChannels limits how many texts of a response can be open at the same time. It is enough for a text and a
	// call for each of 128 choices.
	MaxChannels = 256
	// MaxHeld limits the text that all channels together hold back, in bytes of its escaped form. It is enough for
	// two of the longest JSON Web Tokens, or for more secrets of other kinds.
	MaxHeld = 20 << 10
	// MaxReports limits the number of rules with a report.
	MaxReports = 16
)

// Stream is the check of one streamed response. It is part of the exchange's state between steps. It usually needs
// less than 200 bytes, plus about 50 for each choice. While a long secret is unfinished, Stream usually needs less
// than 4 KB, and at most MaxHeld. The zero value is the state before the first delta.
type Stream struct {
	Tally   governor.Tally
	Reports []Report // at most MaxReports

	blocked    bool
	failed     bool
	characters uint64 // in all texts so far
	work       governor.Work
	seen       []uint64 // rules with a finding
	inserted   uint64   // number of events inserted into a stream whose events have numbers
	channels   []channel
	frame      frame // frame of the last event; kept only within a step
}

// Blocked reports whether a finding has ended the response. If so, only the error may be sent.
func (s *Stream) Blocked() bool { return s.blocked }

// Failed reports whether the stream cannot be checked. The reason is that it has too many open texts or too much
// held-back text. The provider's response then counts as malformed.
func (s *Stream) Failed() bool { return s.failed }

func (s *Stream) ended() bool { return s.blocked || s.failed }

// Fields lists the fields for serialization with the exchange's state.
func (s *Stream) Fields(f *abi.Fields) {
	f.Flags(&s.blocked, &s.failed)
	f.Uint(&s.inserted)
	f.Uint(&s.characters)
	f.Uint((*uint64)(&s.work))
	s.Tally.Fields(f)
	abi.List(f, &s.Reports, reportFields)
	abi.List(f, &s.seen, func(f *abi.Fields, rule *uint64) { f.Uint(rule) })
	abi.List(f, &s.channels, channelFields)
	if len(s.channels) > MaxChannels || len(s.Reports) > MaxReports || len(s.seen) > governor.MaxRules {
		f.Fail()
	}
}

// Own makes s independent of the value that it was copied from. Rest must have been called on that value.
func (s *Stream) Own() {
	s.Tally.Own()
	s.Reports = slices.Clone(s.Reports)
	s.seen = slices.Clip(s.seen)
	s.channels = slices.Clone(s.channels)
}

// Rest drops the fields that last only for a step. The value is then equal to one that Fields has written and read.
func (s *Stream) Rest() {
	s.frame = frame{}
	for i := range s.channels {
		c := &s.channels[i]
		c.encodeScanner()
		c.scanner, c.lex.ended = nil, false
	}
}

// open returns the channel of a text. If there is no channel yet, open creates it. If there are too many channels,
// open returns nil.
func (s *Stream) open(want *channel) *channel {
	free := -1
	for i := range s.channels {
		c := &s.channels[i]
		if c.kind == want.kind && c.choice == want.choice && c.place == want.place {
			return c
		}
		if c.complete() {
			free = i
		}
	}
	switch {
	case free >= 0:
		s.channels[free] = *want
		return &s.channels[free]
	case len(s.channels) == MaxChannels:
		s.failed = true
		return nil
	}
	s.channels = append(s.channels, *want)
	return &s.channels[len(s.channels)-1]
}

func (s *Stream) close(c *channel) {
	for i := range s.channels {
		if c == &s.channels[i] {
			s.channels = append(s.channels[:i], s.channels[i+1:]...)
			return
		}
	}
}

// checkHeld fails the stream if it holds back too much text.
func (s *Stream) checkHeld() {
	held := 0
	for i := range s.channels {
		held += len(s.channels[i].held) + len(s.channels[i].tail)
	}
	s.failed = s.failed || held > MaxHeld
}
