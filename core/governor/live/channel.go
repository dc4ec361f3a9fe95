package live

import (
	"bytes"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
)

// channel is one text of a response. It arrives in pieces.
type channel struct {
	kind   chat.DeltaKind // DeltaText, DeltaRefusal, DeltaThinking or DeltaArgs
	choice uint64         // choice of the deltas
	index  uint64         // index of the deltas of a tool call
	place  uint64         // in passed-through events: a number that distinguishes channels of the same kind
	item   []byte         // in passed-through events of the Responses dialect: the ID of the item, as JSON

	held    []byte // escaped text that is not decided yet
	skip    uint64 // number of decoded bytes in held that are already decided
	lex     lexer  // position before held
	tail    []byte // decided text that may be the start of a placeholder
	state   []byte // state of the scanner between two steps
	scanner *governor.Scanner
	key     uint64 // maximum number of bytes left in a private key that is decided but has not ended
	changed bool   // the caller's text differs from the provider's
	stored  bool   // the text is one of the deltas for the cache
	signed  bool   // the text may be signed, so it cannot be redacted
}

func (c *channel) form() form {
	if c.kind == chat.DeltaArgs {
		return arguments
	}
	return plain
}

// waits reports whether text is held back.
func (c *channel) waits() bool { return len(c.held) > 0 || len(c.tail) > 0 }

// complete reports whether a call's arguments have ended and the channel has no other state.
func (c *channel) complete() bool {
	return c.kind == chat.DeltaArgs && c.scanner == nil && len(c.state) == 0 && !c.waits()
}

// reset prepares the channel for another text.
func (c *channel) reset() {
	c.held, c.tail, c.state, c.scanner = nil, nil, nil, nil
	c.skip, c.key, c.lex = 0, 0, lexer{}
}

// channelFields lists the fields of a channel that last from step to step.
func channelFields(f *abi.Fields, c *channel) {
	abi.Enum(f, &c.kind)
	f.Uint(&c.choice)
	f.Uint(&c.index)
	f.Uint(&c.place)
	f.Bytes(&c.item)
	f.Bytes(&c.held)
	f.Uint(&c.skip)
	f.Uint(&c.key)
	f.Uint(&c.lex.depth)
	f.Flags(&c.lex.inString, &c.lex.drop, &c.changed, &c.stored, &c.signed)
	f.Bytes(&c.tail)
	if !f.Reading() {
		c.encodeScanner()
	}
	f.Bytes(&c.state)
}

// encodeScanner brings state up to date.
func (c *channel) encodeScanner() {
	if c.scanner != nil {
		c.state = c.scanner.AppendState(make([]byte, 0, 64))
	}
}

func (c *channel) resume(g *Guard) bool {
	switch {
	case c.scanner != nil:
	case len(c.state) == 0:
		c.scanner = governor.NewScanner(g.rules())
	default:
		scanner, err := governor.Resume(c.state, g.rules())
		if err != nil {
			return false
		}
		c.scanner = scanner
	}
	return true
}

// feed takes the next piece of a channel's text. send is the text for the caller. store is the same text with
// placeholders instead of the caller's values. If final is set, the text ends here and nothing is held back.
func (s *Stream) feed(g *Guard, c *channel, piece []byte, final bool) (send, store []byte) {
	raw := canonical(piece)
	if len(c.held) > 0 {
		raw = append(c.held[:len(c.held):len(c.held)], raw...)
	}
	text, after := decode(raw, c.form(), c.lex, final)
	// The text ends where the outermost value of the arguments ends. Nothing may follow it.
	final = final || after.ended
	if !c.resume(g) {
		s.failed = true
		return nil, nil
	}
	base := c.scanner.Offset() - int(c.skip)
	e := editor{guard: g, text: text, base: base, placed: c.key > 0}
	cut := 0
	cut, e.found = s.scan(g, c, text, base, final)
	e.walker = walker{raw: raw, form: c.form(), final: final, lex: c.lex}
	store = e.rewrite(cut)
	c.changed = c.changed || e.changed
	if final && !s.blocked {
		store = append(store[:len(store):len(store)], raw[e.at:]...) // an unfinished escape at the end of the text
	}
	send = c.restore(g, store, c.lex, final)
	c.held, c.lex, c.skip = raw[e.at:], e.lex, uint64(e.skip)
	if final || s.blocked {
		c.reset()
	}
	return send, store
}

// escapedBracket is the beginning of the escape of '['. The escapes of the capitals in a placeholder begin in the
// same way.
var escapedBracket = []byte(`\u00`)

// canonical replaces escapes of printable ASCII characters that need no escape. After that, placeholders always have
// the same form.
func canonical(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 || !bytes.Contains(raw, escapedBracket) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		if raw[i+1] == 'u' {
			if r, ok := hex4(raw[i+2:]); ok && r >= ' ' && r < 0x7f && r != '"' && r != '\\' {
				out = append(out, byte(r))
				i += 5
				continue
			}
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}
