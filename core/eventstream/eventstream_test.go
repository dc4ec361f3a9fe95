package eventstream_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/eventstream"
)

// frame builds a message with the standard library, independently of this package.
func frame(headers, payload string) []byte {
	var b []byte
	b = binary.BigEndian.AppendUint32(b, uint32(16+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, headers...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// text returns a header with a string value.
func text(name, value string) string {
	return string(rune(len(name))) + name + "\x07" + string([]byte{byte(len(value) >> 8), byte(len(value))}) + value
}

const (
	isEvent = "\x0d:message-type\x07\x00\x05event"
	isStop  = "\x0b:event-type\x07\x00\x0bmessageStop"
)

// others contains a header of every other type.
const others = "\x01a\x00" + "\x01b\x01" + "\x01c\x02\xff" + "\x01d\x03\x00\x01" + "\x01e\x04\x00\x00\x00\x01" +
	"\x01f\x05\x00\x00\x00\x00\x00\x00\x00\x01" + "\x01g\x06\x00\x03\x00\x01\x02" + "\x01h\x07\x00\x00" +
	"\x01i\x08\x00\x00\x01\x90\x00\x00\x00\x00" + "\x01j\x09" + "0123456789abcdef"

var messages = []struct {
	name string
	data []byte
	want string
}{
	{"event", frame(isStop+text(":content-type", "application/json")+isEvent, `{"stopReason":"end_turn"}`), `event messageStop {"stopReason":"end_turn"}`},
	{"exception", frame(text(":exception-type", "throttlingException")+text(":message-type", "exception"), `{"message":"Too many requests"}`),
		`exception throttlingException {"message":"Too many requests"}`},
	{"error", frame(text(":error-code", "InternalError")+text(":message-type", "error"), ""), "error InternalError "},
	{"all types", frame(others+isEvent+others+isStop+others, "{}"), "event messageStop {}"},
	{"no headers", frame("", "{}"), "  {}"},
	{"empty", frame("", ""), "  "},
	{"a message type that is not a string", frame("\x0d:message-type\x06\x00\x05event"+isStop, ""), " messageStop "},
}

func all(t *testing.T, stream []byte, size int) string {
	t.Helper()
	var rest []byte
	var got strings.Builder
	for at := 0; at < len(stream); at += size {
		rest = append(rest, stream[at:min(at+size, len(stream))]...)
		for {
			m, after, status := eventstream.Next(rest)
			if status == eventstream.Bad {
				return got.String() + "bad"
			}
			if status == eventstream.NeedMore {
				if len(after) != len(rest) {
					t.Errorf("%d of %d bytes of an incomplete message are left", len(after), len(rest))
				}
				break
			}
			fmt.Fprintf(&got, "%s %s %s;", m.Type, m.Event, m.Payload)
			rest = after
		}
	}
	fmt.Fprintf(&got, "%d left", len(rest))
	return got.String()
}

func TestPieces(t *testing.T) {
	for _, c := range messages {
		stream := append(append(append([]byte(nil), c.data...), c.data...), c.data[:len(c.data)-1]...)
		want := fmt.Sprintf("%s;%s;%d left", c.want, c.want, len(c.data)-1)
		for _, size := range []int{1, 2, 3, 7, len(stream)} {
			if got := all(t, stream, size); got != want {
				t.Errorf("%s in pieces of %d: %s, want %s", c.name, size, got, want)
			}
		}
	}
}

func TestTrailingBytesAreKept(t *testing.T) {
	for _, trailing := range []string{"", "x", "not a message"} {
		data := append(append([]byte(nil), messages[0].data...), trailing...)
		m, rest, status := eventstream.Next(data)
		if status != eventstream.OK || m.Event != "messageStop" || string(rest) != trailing {
			t.Errorf("%q: %+v, %q left, %d", trailing, m, rest, status)
		}
	}
}

func TestFlippedBitsAreDetected(t *testing.T) {
	for _, c := range messages {
		for bit := range len(c.data) * 8 {
			flipped := append([]byte(nil), c.data...)
			flipped[bit/8] ^= 1 << (bit % 8)
			if _, _, status := eventstream.Next(flipped); status != eventstream.Bad {
				t.Errorf("%s with bit %d flipped has status %d", c.name, bit, status)
			}
		}
	}
}

func TestBad(t *testing.T) {
	short := frame("", "")
	for name, data := range map[string][]byte{
		"a header without a name":    frame("\x00\x07\x00\x00", ""),
		"a name cut off":             frame("\x05abc", ""),
		"a name and no more":         frame("\x03abc", ""),
		"unknown type":               frame("\x01a\x0a", ""),
		"largest type":               frame("\x01a\xff", ""),
		"a length cut off":           frame("\x01a\x07\x00", ""),
		"a string cut off":           frame("\x01a\x07\x00\x05abcd", "e"),
		"a number cut off":           frame("\x01a\x05\x00", ""),
		"a second header cut off":    frame(isEvent+"\x01", ""),
		"headers exceed the message": prelude(20, 5, short),
		"no room for checksums":      prelude(15, 0, short),
		"zero length":                prelude(0, 0, short),
		"too long":                   prelude(eventstream.MaxMessage+1, 0, short),
		"largest header length":      prelude(100, 1<<32-1, short),
		"text":                       []byte(`{"message":"Forbidden"}`),
	} {
		if m, rest, status := eventstream.Next(data); status != eventstream.Bad || len(rest) != len(data) || m.Type != "" || m.Payload != nil {
			t.Errorf("%s: %+v, %d", name, m, status)
		}
	}
}

// prelude replaces the lengths in a message and updates their checksum.
func prelude(total, headers uint32, message []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, total)
	b = binary.BigEndian.AppendUint32(b, headers)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return append(b, message[12:]...)
}

func TestLongest(t *testing.T) {
	payload := strings.Repeat("x", eventstream.MaxMessage-16-len(isEvent))
	whole := frame(isEvent, payload)
	if m, rest, status := eventstream.Next(whole); status != eventstream.OK || string(m.Payload) != payload || len(rest) != 0 {
		t.Errorf("the longest message has status %d", status)
	}
	if _, _, status := eventstream.Next(frame(isEvent, payload+"x")[:12]); status != eventstream.Bad {
		t.Errorf("a message with one more byte has status %d", status)
	}
}

func TestAppend(t *testing.T) {
	payload := []byte(`{"contentBlockIndex":0,"delta":{"text":"Hi"}}`)
	for kind, header := range map[string]string{"event": ":event-type", "exception": ":exception-type", "error": ":error-code"} {
		want := append([]byte("before"), frame(text(header, "some")+text(":content-type", "application/json")+text(":message-type", kind), string(payload))...)
		if got := eventstream.Append([]byte("before"), kind, "some", payload); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%q, want\n%q", kind, got, want)
		}
	}
}

// TestForeignMessage parses a message from the tests of AWS's libraries. It has a header and a payload.
func TestForeignMessage(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString("AAAAPQAAACAH/YOWDGNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb257J2Zvbyc6J2Jhcid9jZwIsQ==")
	if err != nil {
		t.Fatal(err)
	}
	if m, rest, status := eventstream.Next(data); status != eventstream.OK || string(m.Payload) != "{'foo':'bar'}" || len(rest) != 0 {
		t.Errorf("%+v, %q left, %d", m, rest, status)
	}
}

func FuzzNext(f *testing.F) {
	for _, c := range messages {
		f.Add(c.data, 3)
		f.Add(append(append([]byte(nil), c.data...), c.data[:20%len(c.data)]...), 1)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		if size < 1 || len(stream) > 1<<12 {
			return
		}
		if whole, pieces := all(t, stream, max(len(stream), 1)), all(t, stream, size); whole != pieces {
			t.Errorf("at once: %s, in pieces of %d: %s", whole, size, pieces)
		}
	})
}
