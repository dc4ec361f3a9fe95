package server

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// framed is a listener whose connections refuse ambiguous requests.
type framed struct{ net.Listener }

// Accept implements net.Listener.
func (l framed) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &framedConn{Conn: conn}, nil
}

// framing follows the requests on an HTTP/1 connection byte by byte to find requests whose length is ambiguous. Such
// a request has both Content-Length and Transfer-Encoding, or it has Transfer-Encoding in HTTP/1.0. net/http accepts
// it, but a proxy may have interpreted its length differently (RFC 9112, section 6.1). In all other respects, framing
// parses like net/http. If net/http refuses a request, the connection ends.
type framing struct {
	step    step
	line    []byte // start of the current line
	old     bool   // the request uses HTTP/1.0
	length  bool   // the head has a Content-Length
	chunked bool   // the head has a Transfer-Encoding
	sizing  bool   // the last header line was Content-Length or Transfer-Encoding
	begun   bool   // the current line started in earlier data
	left    int64  // bytes that are left of the body, or of the chunk with its line break
}

type step int

const (
	atStart   step = iota // in the request line
	atHeader              // in a header line
	atBody                // in a body, or a chunk
	atSize                // in the line before a chunk
	atTrailer             // in a line after the last chunk
	unchecked             // HTTP/2
)

// maxLine is the number of bytes of a line that framing examines. All relevant lines are shorter.
const maxLine = 64

// ambiguous returns how many bytes of data may be read, and whether it found an ambiguous head. The bytes that may be
// read end before the line that makes the head ambiguous.
func (f *framing) ambiguous(data []byte) (upTo int, found bool) {
	for i := 0; i < len(data); {
		switch f.step {
		case unchecked:
			return len(data), false
		case atBody:
			n := min(f.left, int64(len(data)-i))
			i += int(n)
			if f.left -= n; f.left == 0 {
				f.bodyRead()
			}
			continue
		}
		f.begun = len(f.line) > 0
		end := bytes.IndexByte(data[i:], '\n')
		part := data[i:]
		if end >= 0 {
			part = part[:end]
		}
		f.keep(part)
		if end < 0 {
			return len(data), false
		}
		next := i + end + 1
		if f.endLine() {
			return i, true
		}
		i = next
	}
	return len(data), false
}

// keep adds data to the start of the current line. It keeps the end of a request line, which contains the version.
func (f *framing) keep(part []byte) {
	if f.step == atStart {
		f.line = append(f.line, part[max(0, len(part)-maxLine):]...)
		f.line = f.line[max(0, len(f.line)-maxLine):]
		return
	}
	f.line = append(f.line, part[:min(len(part), maxLine-len(f.line))]...)
}

// endLine handles a complete line. It reports whether the line makes the head ambiguous.
func (f *framing) endLine() bool {
	line := strings.TrimRight(string(f.line), "\r")
	f.line = f.line[:0]
	switch f.step {
	case atStart:
		f.startLine(line)
	case atHeader:
		return f.headerLine(line)
	case atSize:
		f.sizeLine(line)
	case atTrailer:
		if line == "" {
			f.step = atStart
		}
	}
	return false
}

func (f *framing) startLine(line string) {
	*f = framing{step: atHeader, line: f.line, old: strings.HasSuffix(line, " HTTP/1.0")}
	if line == "PRI * HTTP/2.0" {
		f.step = unchecked
	}
}

func (f *framing) headerLine(line string) bool {
	name, value, _ := strings.Cut(line, ":")
	isLength, isEncoding := strings.EqualFold(name, "Content-Length"), strings.EqualFold(name, "Transfer-Encoding")
	continued := f.sizing && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"))
	f.sizing = isLength || isEncoding
	switch {
	case line == "":
		f.headRead()
	case isLength:
		f.length, f.left = true, digits(strings.TrimSpace(value), 10)
	case isEncoding:
		f.chunked = true
	}
	return continued || f.sizing && len(line) == maxLine || f.chunked && (f.length || f.old)
}

// headRead selects the next step after a head.
func (f *framing) headRead() {
	switch {
	case f.chunked:
		f.step = atSize
	case f.left > 0:
		f.step = atBody
	default:
		f.step = atStart
	}
}

// bodyRead selects the next step after a body or a chunk.
func (f *framing) bodyRead() {
	if f.step = atStart; f.chunked {
		f.step = atSize
	}
}

func (f *framing) sizeLine(line string) {
	size := digits(line, 16)
	if f.step, f.left = atBody, size+int64(len("\r\n")); size == 0 {
		f.step = atTrailer
	}
}

// digits returns the number at the start of a text. It checks nothing, because net/http refuses a text without a
// number and a number that is too large.
func digits(text string, base int64) (n int64) {
	for _, c := range strings.ToLower(text) {
		digit := int64(strings.IndexRune("0123456789abcdef"[:base], c))
		if digit < 0 || n > 1<<50 {
			break
		}
		n = n*base + digit
	}
	return n
}

// framedConn is an HTTP/1 connection that refuses ambiguous requests. It replaces the line that makes a head
// ambiguous with a malformed one, so net/http responds with 400 and closes the connection.
type framedConn struct {
	net.Conn
	framing framing
	refusal *strings.Reader // bytes that net/http reads next; nil: it reads from the connection
	refused atomic.Bool
}

const malformed = "malformed\r\n\r\n"

// Read implements net.Conn.
func (c *framedConn) Read(p []byte) (int, error) {
	if c.refusal != nil {
		return c.refusal.Read(p)
	}
	n, err := c.Conn.Read(p)
	upTo, found := c.framing.ambiguous(p[:n])
	if !found {
		return n, err
	}
	c.refused.Store(true)
	c.refusal = strings.NewReader(malformed)
	if c.framing.begun {
		c.refusal = strings.NewReader("\r\n" + malformed)
	}
	if upTo == 0 {
		return c.refusal.Read(p)
	}
	return upTo, nil
}

// Close implements net.Conn. If it closed a connection with unread bytes, that would reset the connection before the
// client has received the refusal.
func (c *framedConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.refused.Load() && half.CloseWrite() == nil {
		_ = c.Conn.SetReadDeadline(time.Now().Add(lingerTimeout))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
	return c.Conn.Close()
}
