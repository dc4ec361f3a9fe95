package fakeprovider

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// framing is the encoding that delimits events.
type framing uint8

const (
	sse         framing = iota // WHATWG HTML, "Server-sent events"
	sseCRLF                    // the same with CRLF, as Google sends it
	eventStream                // Amazon's event stream encoding
)

func (f framing) contentType() string {
	switch f {
	case eventStream:
		return "application/vnd.amazon.eventstream"
	case sseCRLF:
		return "text/event-stream"
	}
	return "text/event-stream; charset=utf-8"
}

// plain frames an event as the real providers do.
func (f framing) plain(e event) []byte {
	switch f {
	case eventStream:
		return appendFrame(nil, eventHeaders(e), e.data)
	case sseCRLF:
		return join("data: ", string(e.data), "\r\n\r\n")
	}
	if e.name == "" {
		return join("data: ", string(e.data), "\n\n")
	}
	return join("event: ", e.name, "\ndata: ", string(e.data), "\n\n")
}

// unusual frames an event in the most unusual valid way.
func (f framing) unusual(e event, first bool) []byte {
	if f == eventStream {
		return unusualFrames(e, first)
	}
	var b bytes.Buffer
	if first {
		b.WriteString("\uFEFF")
	}
	b.WriteString(": ping\r\n\r\n:\r\nretry: 3000\r\nid: 7\r\nx-unknown: {}\r\nno-colon\r\n")
	if e.name != "" {
		b.WriteString("event:" + e.name + "\r\n")
	}
	for _, line := range bytes.Split(indented(e.data), []byte("\n")) {
		b.WriteString("data:")
		b.Write(line)
		b.WriteString("\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

func indented(data []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, data, "", " ") != nil {
		return append([]byte(" "), data...)
	}
	return b.Bytes()
}

// header is one header of a frame. Amazon's type numbers: 0 true, 1 false, 2 byte, 3 short, 4 integer, 5 long, 6
// bytes, 7 string, 8 timestamp, 9 UUID.
type header struct {
	name  string
	kind  byte
	value []byte
}

func eventHeaders(e event) []header {
	kind, message := ":event-type", "event"
	if e.fail {
		kind, message = ":exception-type", "exception"
	}
	return []header{
		{kind, 7, []byte(e.name)}, {":content-type", 7, []byte("application/json")}, {":message-type", 7, []byte(message)},
	}
}

// appendFrame appends a frame:
//
//	total length u32 | headers' length u32 | CRC32 of these 8 bytes | headers | payload | CRC32 of all before
//
// A header consists of: length of the name u8 | name | type u8 | value. Strings and bytes are preceded by a u16
// length. Source: Amazon Transcribe's and Bedrock's developer guides, "Event stream encoding".
func appendFrame(dst []byte, headers []header, payload []byte) []byte {
	var h []byte
	for _, one := range headers {
		h = append(append(append(h, byte(len(one.name))), one.name...), one.kind)
		if one.kind == 6 || one.kind == 7 {
			h = binary.BigEndian.AppendUint16(h, uint16(len(one.value)))
		}
		h = append(h, one.value...)
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(12+len(h)+len(payload)+4))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(h)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(append(frame, h...), payload...)
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	return append(dst, frame...)
}

// unusualFrames adds a header of every type to the frame, and inserts an unknown event before the first frame.
func unusualFrames(e event, first bool) []byte {
	var out []byte
	if first {
		out = appendFrame(out, eventHeaders(event{name: "somethingNew"}), []byte(`{"p":"ab"}`))
	}
	all := []header{
		{"x-true", 0, nil}, {"x-false", 1, nil}, {"x-byte", 2, make([]byte, 1)}, {"x-short", 3, make([]byte, 2)},
		{"x-integer", 4, make([]byte, 4)}, {"x-long", 5, make([]byte, 8)}, {"x-bytes", 6, []byte{0, 1, 2}},
		{"x-time", 8, make([]byte, 8)}, {"x-uuid", 9, make([]byte, 16)},
	}
	return appendFrame(out, append(all, eventHeaders(e)...), e.data)
}
