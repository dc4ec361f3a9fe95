// Package eventstream reads the messages of application/vnd.amazon.eventstream as they arrive, and writes them.
//
// A message, all numbers big-endian: its length (4 bytes, itself included), the length of its headers (4), the
// CRC of these eight bytes (4), headers, payload, and the CRC of all before it (4). A header: the length of
// its name (1), the name, the type of its value (1) and the value.
// Source: Smithy 2.0, "Amazon Event Stream Specification" (smithy.io/2.0/aws/amazon-eventstream.html).
package eventstream

import "slices"

// MaxMessage bounds a message with all its parts, in bytes. Those of a model's answer are pieces of text.
const MaxMessage = 1 << 20

const (
	preludeBytes  = 12
	checksumBytes = 4
	leastBytes    = preludeBytes + checksumBytes
)

// Status says what Next found.
type Status uint8

const (
	Need Status = iota // more bytes are needed; rest is all that was given
	OK
	Bad // what is there is no message, or one too long: nothing after it can be read
)

// Message is one message. Payload shares memory with what was given.
type Message struct {
	Type    string // of its header ":message-type": event, exception or error
	Event   string // ":event-type" of an event, ":exception-type" of an exception, ":error-code" of an error
	Payload []byte
}

// Next takes a message off the start of buf.
func Next(buf []byte) (m Message, rest []byte, status Status) {
	if len(buf) < preludeBytes {
		return m, buf, Need
	}
	total, headers := number(buf), number(buf[4:])
	if total < leastBytes || total > MaxMessage || headers > total-leastBytes || number(buf[8:]) != checksum(buf[:8]) {
		return m, buf, Bad
	}
	if uint32(len(buf)) < total {
		return m, buf, Need
	}
	end := total - checksumBytes
	if number(buf[end:]) != checksum(buf[:end]) {
		return m, buf, Bad
	}
	if !m.headers(buf[preludeBytes : preludeBytes+headers]) {
		return Message{}, buf, Bad
	}
	m.Payload = buf[preludeBytes+headers : end : end]
	return m, buf[total:], OK
}

// headers reads all of them; false if they are not headers.
func (m *Message) headers(b []byte) bool {
	for len(b) > 0 {
		name, kind, value, rest, ok := cutHeader(b)
		if !ok {
			return false
		}
		b = rest
		if kind != kindString {
			continue
		}
		switch string(name) {
		case ":message-type":
			m.Type = string(value)
		case ":event-type", ":exception-type", ":error-code":
			m.Event = string(value)
		}
	}
	return true
}

// Types of values.
const (
	kindTrue = iota
	kindFalse
	kindByte
	kindShort
	kindInteger
	kindLong
	kindBytes
	kindString
	kindTimestamp
	kindUUID
)

// sizes are the lengths of values by their type; those of bytes and of strings are said by the two bytes
// before them.
var sizes = [...]int{
	kindTrue: 0, kindFalse: 0, kindByte: 1, kindShort: 2, kindInteger: 4, kindLong: 8, kindTimestamp: 8, kindUUID: 16,
}

// cutHeader takes a header off; false if there is none.
func cutHeader(b []byte) (name []byte, kind byte, value, rest []byte, ok bool) {
	n := int(b[0])
	if n == 0 || len(b) < 1+n+1 {
		return nil, 0, nil, nil, false
	}
	name, kind, b = b[1:1+n], b[1+n], b[2+n:]
	if int(kind) >= len(sizes) {
		return nil, 0, nil, nil, false
	}
	size := sizes[kind]
	if kind == kindBytes || kind == kindString {
		if len(b) < 2 {
			return nil, 0, nil, nil, false
		}
		size, b = int(b[0])<<8|int(b[1]), b[2:]
	}
	if len(b) < size {
		return nil, 0, nil, nil, false
	}
	return name, kind, b[:size], b[size:], true
}

// Append writes a message as Bedrock does: a JSON payload, and of the headers those that Next reads. Names are
// shorter than 64 KiB.
func Append(dst []byte, messageType, event string, payload []byte) []byte {
	kind := ":event-type"
	switch messageType {
	case "exception":
		kind = ":exception-type"
	case "error":
		kind = ":error-code"
	}
	dst = slices.Grow(dst, leastBytes+len(messageType)+len(event)+len(payload)+80)
	start := len(dst)
	dst = append(dst, make([]byte, preludeBytes)...)
	dst = appendHeader(dst, kind, event)
	dst = appendHeader(dst, ":content-type", "application/json")
	dst = appendHeader(dst, ":message-type", messageType)
	headers := len(dst) - start - preludeBytes
	dst = append(dst, payload...)
	m := dst[start:]
	put(m, uint32(len(m)+checksumBytes))
	put(m[4:], uint32(headers))
	put(m[8:], checksum(m[:8]))
	sum := checksum(m)
	return append(dst, byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}

func appendHeader(dst []byte, name, value string) []byte {
	dst = append(append(dst, byte(len(name))), name...)
	dst = append(dst, kindString, byte(len(value)>>8), byte(len(value)))
	return append(dst, value...)
}

func number(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func put(b []byte, n uint32) {
	b[0], b[1], b[2], b[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
}
