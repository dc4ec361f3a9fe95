// Package sse reads server-sent events as they arrive.
// Source: WHATWG HTML, "Server-sent events", section "Parsing an event stream".
package sse

import "bytes"

// MaxEvent bounds an event with all its lines, in bytes. The longest that providers send is the last event
// of OpenAI's responses, which repeats the whole answer.
const MaxEvent = 1 << 20

// Event is one event with data. Data shares memory with what was fed, unless it had several lines.
type Event struct {
	Name string // of its "event" field; empty if it has none
	Data []byte
}

// Parser is the state between two pieces of a stream.
type Parser struct {
	Begun bool   // something was fed: no byte order mark can come any more
	Rest  []byte // of an event that is not ended; shares memory with what was fed
}

// Feed takes the next piece and gives the events that it ends. With final set nothing follows: an event
// that is not ended then is dropped, as the standard says. ok is false once an event is too long.
func (p *Parser) Feed(data []byte, final bool) (events []Event, ok bool) {
	buf := data
	if len(p.Rest) > 0 {
		buf = append(p.Rest[:len(p.Rest):len(p.Rest)], data...)
	}
	if !p.Begun {
		mark := []byte("\uFEFF")
		if len(buf) < len(mark) && !final && bytes.HasPrefix(mark, buf) {
			p.Rest = buf
			return nil, true
		}
		buf = bytes.TrimPrefix(buf, mark)
		p.Begun = true
	}
	for {
		event, has, rest, ended := next(buf, final)
		if !ended {
			break
		}
		if len(buf)-len(rest) > MaxEvent {
			return events, false
		}
		if has {
			events = append(events, event)
		}
		buf = rest
	}
	p.Rest = buf
	return events, len(buf) <= MaxEvent
}

// next reads one event, up to the blank line that ends it; has is false for one without data.
func next(buf []byte, final bool) (event Event, has bool, rest []byte, ended bool) {
	rest = buf
	for {
		line, after, ok := cutLine(rest, final)
		if !ok {
			return event, false, buf, false
		}
		rest = after
		if len(line) == 0 {
			return event, has, rest, true
		}
		name, value := field(line)
		switch {
		case name == "event":
			event.Name = string(value)
		case name != "data":
		case !has:
			event.Data, has = value[:len(value):len(value)], true // so that a second line makes a copy
		default:
			event.Data = append(append(event.Data, '\n'), value...)
		}
	}
}

// cutLine takes a line off: it ends with LF, CR, or both. A CR that is the last byte may be half of both.
func cutLine(buf []byte, final bool) (line, rest []byte, ok bool) {
	for i, c := range buf {
		switch {
		case c == '\n':
			return buf[:i], buf[i+1:], true
		case c != '\r':
		case i+1 < len(buf) && buf[i+1] == '\n':
			return buf[:i], buf[i+2:], true
		case i+1 < len(buf) || final:
			return buf[:i], buf[i+1:], true
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// field splits a line; a comment has an empty name.
func field(line []byte) (name string, value []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return string(line), nil
	}
	value = line[colon+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return string(line[:colon]), value
}
