// Package sse parses server-sent events incrementally.
// Source: WHATWG HTML, "Server-sent events", section "Parsing an event stream".
package sse

import "bytes"

// MaxEvent is the maximum size of an event in bytes, including all its lines. The longest events that providers send
// are the final events in OpenAI's Responses API, which repeat the complete response.
const MaxEvent = 1 << 20

// Event is one event with data. Data shares memory with the input of Feed unless it has several lines.
type Event struct {
	Name string // value of the "event" field, or empty
	Data []byte
}

// Parser has the state between two pieces of a stream.
type Parser struct {
	Begun bool   // the start of the stream, which can have a byte order mark, has been read
	Rest  []byte // the incomplete last event; shares memory with the input of Feed
}

// Feed parses the next piece of a stream and returns the events that it completes. final marks the end of the stream.
// An incomplete event is dropped there, as the standard requires. ok is false if an event exceeds MaxEvent.
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

// next reads one event up to the blank line that ends it. has is false if it has no data. ended is false if buf
// has no complete event.
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
			event.Data, has = value[:len(value):len(value)], true // limits the capacity, so that a second line makes a copy
		default:
			event.Data = append(append(event.Data, '\n'), value...)
		}
	}
}

// cutLine splits off the first line, which ends with LF, CR or CRLF. If the last byte is a CR, it can be half of a
// CRLF, so the line is incomplete unless final is set.
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

// field splits a line into name and value. A comment has an empty name.
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
