// Package eventstream parses messages of application/vnd.amazon.eventstream incrementally, and writes them.
//
// A message has big-endian numbers and consists of the total length (4 bytes), the length of the headers (4), the CRC
// of these eight bytes (4), the headers, the payload, and the CRC of everything before (4). A header consists of the
// length of the name (1), the name, the type of the value (1) and the value. Source: Smithy 2.0, "Amazon Event Stream
// Specification" (smithy.io/2.0/aws/amazon-eventstream.html).
package eventstream

import "slices"

// MaxMessage is the maximum size of a message in bytes. The messages in a model's response are short pieces of text.
const MaxMessage = 1 << 20

const (
	preludeBytes  = 12
	checksumBytes = 4
	leastBytes    = preludeBytes + checksumBytes
)

// Status is the result of Next.
type Status uint8

const (
	NeedMore Status = iota // the message is incomplete, and rest is all of buf
	OK
	Bad // not a message, or too long, so the rest of the stream cannot be read
)

// Message is one message. Payload shares memory with the input of Next.
type Message struct {
	Type    string // header ":message-type": event, exception or error
	Event   string // header ":event-type" of an event, ":exception-type" of an exception, ":error-code" of an error
	Payload []byte
}

// Next parses the first message in buf and returns the rest.
func Next(buf []byte) (m Message, rest []byte, status Status) {
	if len(buf) < preludeBytes {
		return m, buf, NeedMore
	}
	total, headers := number(buf), number(buf[4:])
	if total < leastBytes || total > MaxMessage || headers > total-leastBytes || number(buf[8:]) != checksum(buf[:8]) {
		return m, buf, Bad
	}
	if uint32(len(buf)) < total {
		return m, buf, NeedMore
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

// headers parses all headers. It returns false if they are malformed.
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

// Types of header values.
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

// sizes contains the length of a value for each type. Byte arrays and strings have their length in the two bytes
// before them.
var sizes = [...]int{
	kindTrue: 0, kindFalse: 0, kindByte: 1, kindShort: 2, kindInteger: 4, kindLong: 8, kindTimestamp: 8, kindUUID: 16,
}

// cutHeader splits off the first header. It returns false if it is malformed.
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

// Append appends a message in Bedrock's format, with a JSON payload, a content type, and the headers that Next reads.
// event must be shorter than 64 KiB.
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
