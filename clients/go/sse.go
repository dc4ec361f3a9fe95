package postern

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const maxEventBytes = 16 << 20

var errEventTooLarge = errors.New("an event is larger than 16 MiB")

// eventReader reads the data of server-sent events, as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6): lines end with CR, LF or CRLF, an
// empty line ends an event, and an event without its empty line is dropped. It skips other fields and comments.
type eventReader struct {
	r       *bufio.Reader
	line    []byte // without its end
	data    []byte // of the current event
	afterCR bool   // if the next character is an LF, it belongs to the end of the last line
	started bool   // true after the first line, which may begin with a byte order mark
}

func newEventReader(r io.Reader) *eventReader { return &eventReader{r: bufio.NewReader(r)} }

// next returns the data of the next event. The data is valid until the next call. At the end, the error is io.EOF. It
// can also be errEventTooLarge or an error of the reader.
func (e *eventReader) next() ([]byte, error) {
	e.data = e.data[:0]
	hasData := false
	for {
		if err := e.readLine(); err != nil {
			return nil, err
		}
		if len(e.line) == 0 {
			if hasData {
				return bytes.TrimSuffix(e.data, []byte{'\n'}), nil
			}
			continue
		}
		field, value, _ := bytes.Cut(e.line, []byte{':'})
		if string(field) != "data" {
			continue
		}
		hasData = true
		e.data = append(append(e.data, bytes.TrimPrefix(value, []byte{' '})...), '\n')
	}
}

func (e *eventReader) readLine() error {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return err
		}
		chunk, _ := e.r.Peek(e.r.Buffered())
		if e.afterCR && chunk[0] == '\n' {
			e.afterCR = false
			_, _ = e.r.Discard(1)
			continue
		}
		e.afterCR = false
		if end := bytes.IndexAny(chunk, "\r\n"); end >= 0 {
			e.afterCR = chunk[end] == '\r'
			return e.take(chunk[:end], 1)
		}
		if err := e.take(chunk, 0); err != nil {
			return err
		}
	}
}

// take appends part to the line. It removes part, and the given number of bytes of the line's end, from the input.
func (e *eventReader) take(part []byte, ending int) error {
	if len(e.data)+len(e.line)+len(part) > maxEventBytes {
		return errEventTooLarge
	}
	e.line = append(e.line, part...)
	_, err := e.r.Discard(len(part) + ending)
	if ending > 0 && !e.started {
		e.started = true
		e.line = bytes.TrimPrefix(e.line, []byte("\xef\xbb\xbf"))
	}
	return err
}
