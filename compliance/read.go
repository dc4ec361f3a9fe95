package compliance

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/chain"
)

// File is one file of an export: one or more pages.
type File struct {
	Name string
	Data io.Reader
}

// Invalid is the error for an invalid export. It describes the first fault that Verify found.
type Invalid struct {
	File string // empty: the fault has no single place
	Line int
	Text string
	// Incomplete means that entries are missing. The export is not necessarily altered.
	Incomplete bool
}

// Error names the place and the fault.
func (e *Invalid) Error() string {
	if e.File == "" {
		return e.Text
	}
	return fmt.Sprintf("%s, line %d: %s", e.File, e.Line, e.Text)
}

// maxLine is the maximum length of a line. The longest that Postern writes is less than 100 KB.
const maxLine = 4 << 20

// timeLayout is the form of all times: RFC 3339, UTC, milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

type place struct {
	file string
	line int
}

func (p place) invalid(format string, args ...any) *Invalid {
	return &Invalid{File: p.file, Line: p.line, Text: fmt.Sprintf(format, args...)}
}

type placedEntry struct {
	place
	chain.Entry
}

// placedPage is a page's header with its line, and the hash of the lines after it.
type placedPage struct {
	place
	Header
	lines hash.Hash
}

// exported is the content of an export's files.
type exported struct {
	first, last Header // the headers of the first and the last page
	pages       []placedPage
	entries     []placedEntry
	checkpoints []Checkpoint   // of all headers
	others      map[string]int // lines that are not entries, by record
}

// read reads all files, in order. Any error other than *Invalid means that a file could not be read.
func read(files []File) (*exported, error) {
	x := &exported{others: map[string]int{}}
	for _, f := range files {
		lines := bufio.NewScanner(f.Data)
		lines.Buffer(nil, maxLine)
		lines.Split(scanLine)
		n := 0
		for lines.Scan() {
			n++
			if err := x.line(place{f.Name, n}, lines.Bytes()); err != nil {
				return nil, err
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if n == 0 {
			return nil, place{f.Name, 1}.invalid("the file is empty")
		}
	}
	return x, nil
}

// scanLine splits at line feeds only. bufio.ScanLines would also drop a carriage return. Postern does not write one,
// so it must be found.
func scanLine(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (x *exported) line(at place, text []byte) error {
	var kind struct{ Format, Record string }
	if json.Unmarshal(text, &kind) != nil {
		return at.invalid("is not a line of JSON: changed or cut off")
	}
	if n := len(x.pages); n > 0 && kind.Format != Format {
		x.pages[n-1].lines.Write(append(bytes.Clone(text), '\n'))
	}
	switch {
	case kind.Format == Format:
		return x.header(at, text)
	case len(x.pages) == 0:
		return at.invalid("the export's header is missing")
	case kind.Record == EventRecord:
		return x.event(at, text)
	case !slices.ContainsFunc(x.first.Records, func(r Record) bool { return r.Record == kind.Record && !r.Chained }):
		return at.invalid("this export has no lines of record %q", kind.Record)
	case !isRecord(text, kind.Record):
		return at.invalid("was changed: the line is not in the form in which Postern writes it")
	}
	x.others[kind.Record]++
	return nil
}

// isRecord reports whether a line begins with the field "record" with the given value, has no spaces between its
// fields, and does not repeat "record".
func isRecord(line []byte, record string) bool {
	var compact bytes.Buffer
	rest, found := bytes.CutPrefix(line, []byte(`{"record":"`+record+`",`))
	if !found || json.Compact(&compact, line) != nil || !bytes.Equal(compact.Bytes(), line) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(append([]byte{'{'}, rest...), &members) != nil {
		return false
	}
	_, again := members["record"]
	return !again
}

// header reads the header of a page. The page must continue the page before it. The header must be exactly as Page
// writes it, so that no field is unknown or missing.
func (x *exported) header(at place, text []byte) error {
	var h Header
	if err := json.Unmarshal(text, &h); err != nil || h.Version != FormatVersion {
		return at.invalid("the header is malformed, or of a version other than %d", FormatVersion)
	}
	if again, err := h.encode(); err != nil || !bytes.Equal(again, text) {
		return at.invalid("the header was changed: it has unknown, missing or reordered members, or is not in the form in which Postern writes it")
	}
	if len(x.pages) == 0 {
		x.first = h
		if h.After != nil {
			return at.invalid("the export's first page is missing")
		}
	} else if problem := x.continues(&h); problem != "" {
		return at.invalid("%s", problem)
	}
	x.last = h
	x.pages = append(x.pages, placedPage{at, h, sha256.New()})
	x.checkpoints = append(x.checkpoints, h.Checkpoints...)
	return nil
}

// continues describes why a page does not follow the last one.
func (x *exported) continues(h *Header) string {
	a, b := &x.first, h
	switch {
	case a.Type != b.Type || a.Project != b.Project || text(a.From) != text(b.From) || text(a.To) != text(b.To):
		return "the page belongs to another export"
	case x.last.Next == nil || text(x.last.Next) != text(h.After):
		return "the page does not follow the one before: a page is missing, repeated or out of order"
	case (a.Chain == nil) != (b.Chain == nil), a.Chain != nil && (a.Chain.Object != b.Chain.Object || a.Chain.First != b.Chain.First || a.Chain.Last != b.Chain.Last):
		return "the page has another range of entries than the first page"
	}
	return ""
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// event reads the line of an entry. The line must be exactly as AppendEvent writes it. The hash then covers every
// byte of it.
func (x *exported) event(at place, line []byte) error {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return at.invalid("the entry is malformed: %v", err)
	}
	entry := chain.Entry{Seq: e.Seq, Kind: e.Kind}
	when, err := time.Parse(timeLayout, e.Time)
	entry.TimeMs = uint64(when.UnixMilli())
	for _, h := range []struct {
		text string
		hash *chain.Hash
	}{{e.PayloadHash, &entry.PayloadHash}, {e.Previous, &entry.Previous}, {e.Hash, &entry.Hash}} {
		if n, hexErr := hex.Decode(h.hash[:], []byte(h.text[:min(len(h.text), 64)])); hexErr != nil || n != len(h.hash) {
			return at.invalid("entry %d was changed: %q is not a hash", e.Seq, h.text)
		}
	}
	hasPayload := string(e.Payload) != "null"
	if hasPayload {
		entry.Payload = e.Payload
	}
	if err != nil || !bytes.Equal(AppendEvent(nil, &entry, e.Time, hasPayload), line) {
		return at.invalid("entry %d was changed: the line is not in the form in which Postern writes it", e.Seq)
	}
	x.entries = append(x.entries, placedEntry{at, entry})
	return nil
}
