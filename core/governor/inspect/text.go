package inspect

import "github.com/postern-ai/postern/core/governor"

// segment is a part of a text: the content of a JSON string, or a document.
type segment struct {
	start, end uint32 // in the body
	pos        uint32 // offset of its first byte in the decoded text
	level      uint8  // of escaping; see cursor
	escaped    bool   // its bytes are not the same as its decoded text
	document   bool
	fixed      bool // signed, so it cannot be rewritten
}

// mode says how to handle each text of a body.
type mode uint8

const (
	scan    mode = iota
	repeat       // scan a text that repeats others: rewrite it; count a finding only if its rule has no report yet
	reserve      // collect the placeholders in the texts
	restore      // replace placeholders with their values
)

type inspector struct {
	check    *Check
	mode     mode
	dir      governor.Direction
	body     []byte
	scanner  *governor.Scanner
	other    *governor.Scanner // for the other role; nil until its first text
	redactor *governor.Redactor
	edits    edits
	result   Result
	places   []place
	counts   bool     // the policy limits the length
	joined   bool     // offsets of findings are relative to the first part of a message
	reported []uint16 // by rule: 1 + the index of its report
	found    []governor.Finding
	literals []governor.Literal // found in the mode reserve
	literal  []uint32           // for each literal, the offset of its text
	scratch  []byte
	value    []byte // buffer for restored values
	single   [1]governor.Finding
	segments list[segment] // segments of texts that have not been handled yet
	at       mapper
}

// one handles a text that has only one segment.
func (in *inspector) one(s segment) {
	from := in.segments.count
	in.segments.push(s)
	in.text(from)
}

// text handles one text and removes its segments, which start at index from. The segments are the adjacent parts of
// one message, the tokens of log probabilities, or a single string or document.
func (in *inspector) text(from int) {
	if from == in.segments.count {
		return
	}
	if decoded := in.decode(from); len(decoded) > 0 {
		in.at = mapper{in: in, index: from, tokens: in.at.tokens, first: from}
		in.handle(decoded)
	}
	in.segments.count = from
}

func (in *inspector) handle(decoded []byte) {
	switch in.mode {
	case reserve:
		in.literals = governor.AppendLiterals(in.literals, decoded)
		for len(in.literal) < len(in.literals) {
			in.literal = append(in.literal, in.segments.at(in.at.first).start)
		}
	case restore:
		in.restore(decoded)
	default:
		if in.mode == scan && in.counts {
			in.result.Characters += governor.Characters(decoded)
		}
		in.scan(decoded)
	}
}

// decode returns the decoded text and sets the positions of its segments. The decoded text is valid until the next
// call.
func (in *inspector) decode(from int) []byte {
	if s := in.segments.at(from); from+1 == in.segments.count && !s.escaped {
		return in.body[s.start:s.end]
	}
	size := 0
	for i := from; i < in.segments.count; i++ {
		s := in.segments.at(i)
		size += int(s.end - s.start)
	}
	if cap(in.scratch) < size {
		// Memory is freed only when the call ends. The buffer doubles when it grows, so the sum of all sizes stays
		// below four times the body's size.
		in.scratch = make([]byte, 0, max(size, min(2*cap(in.scratch), len(in.body))))
	}
	in.scratch = in.scratch[:0]
	for i := from; i < in.segments.count; i++ {
		s := in.segments.at(i)
		s.pos = uint32(len(in.scratch))
		c := newCursor(in.body, s)
		switch {
		case s.level == encodedText:
			in.scratch = c.decodeBase64(in.scratch)
		case s.escaped:
			in.scratch = c.decode(in.scratch)
		default:
			in.scratch = append(in.scratch, in.body[s.start:s.end]...)
		}
	}
	return in.scratch
}

// window is the size of the pieces in which long texts are scanned. Because of the pieces, memory holds only the
// findings of one piece at a time. A piece is larger than anything that a scanner holds back.
const window = 64 << 10

// scan searches a text for findings and handles each of them.
func (in *inspector) scan(text []byte) {
	in.scanner.Restart()
	searched := in.check.work < governor.MaxWork
	for at := 0; ; {
		to := min(at+window, len(text))
		var done int
		in.found, done = in.scanner.Next(text[at:to], to == len(text), in.found[:0])
		for _, f := range in.found {
			in.finding(f, text)
		}
		if at += done; to == len(text) {
			break
		}
	}
	if searched && in.check.work >= governor.MaxWork {
		in.unsearched()
	}
}

func (in *inspector) finding(f governor.Finding, text []byte) {
	action := in.check.Policy.Action(in.dir, f.Rule)
	if action == governor.Allow {
		return
	}
	s := in.at.segment(f.Start)
	if action == governor.Redact && !in.at.redact(f, text) {
		action = governor.Block
	}
	if in.mode == repeat && in.reported[f.Rule] != 0 {
		return
	}
	in.count(f, action)
	if in.joined {
		s = in.segments.at(in.at.first)
	}
	in.report(Finding{Rule: f.Rule, Action: action, Start: f.Start - int(s.pos), End: f.End - int(s.pos)}, int(s.start), text[f.Start:f.End])
}

func (in *inspector) count(f governor.Finding, action governor.Action) {
	in.single[0] = f
	in.result.Tally.Add(in.check.Policy, in.dir, in.single[:])
	// If a finding cannot be redacted, for example because it is signed or in a field name, it must not pass.
	in.result.Tally.Blocked = in.result.Tally.Blocked || action == governor.Block
}
