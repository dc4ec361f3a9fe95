// Package transfer moves a deployment. Export writes all of its state into a file. Import writes the state from a
// file into another deployment. Both use the admin API. docs/operate/move.md describes the file.
package transfer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Format and FormatVersion are at the start of a file.
const (
	Format        = "postern-deployment"
	FormatVersion = 1
)

// maxLineBytes is the maximum length of a line. The longest line has a row of 2,000,000 bytes in base64 and the row's
// key.
const maxLineBytes = 4 << 20

// directoryObject is the name of the object with the projects and keys. The names of the other objects have one of
// the prefixes.
const (
	directoryObject = "directory"
	ledgerPrefix    = "ledger/"
	meterPrefix     = "meter/"
)

// header is the first line of a file.
type header struct {
	Format     string `json:"format"`
	Version    int    `json:"version"`
	Source     string `json:"source"` // address of the deployment
	ExportedAt string `json:"exportedAt"`
	Postern    string `json:"postern"` // version of the program
}

// row is a row as the object stores it; Value is base64 in JSON.
type row struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// page is a line with a part of an object.
type page struct {
	Object  string `json:"object"`
	Project string `json:"project,omitempty"` // of a project's ledger, and of a meter
	Region  string `json:"region,omitempty"`  // of that project
	Rows    []row  `json:"rows"`
	Last    bool   `json:"last"` // of the object
}

// end is the last line of a file.
type end struct {
	Objects int    `json:"objects"`
	Rows    int    `json:"rows"`
	SHA256  string `json:"sha256"` // hash of all bytes before this line
}

// writer writes a file and counts its contents.
type writer struct {
	to      *bufio.Writer
	sum     hash.Hash
	objects map[string]hash.Hash // hashes of the objects' lines, by the name of the object
	rows    int
}

func newWriter(to io.Writer) *writer {
	return &writer{to: bufio.NewWriterSize(to, 1<<20), sum: sha256.New(), objects: map[string]hash.Hash{}}
}

func (w *writer) line(v any) (line []byte, err error) {
	if line, err = json.Marshal(v); err != nil {
		return nil, err
	}
	line = append(line, '\n')
	w.sum.Write(line)
	_, err = w.to.Write(line)
	return line, err
}

func (w *writer) page(p *page) error {
	line, err := w.line(p)
	if w.objects[p.Object] == nil {
		w.objects[p.Object] = sha256.New()
	}
	w.objects[p.Object].Write(line)
	w.rows += len(p.Rows)
	return err
}

func (w *writer) end() error {
	_, err := w.line(end{len(w.objects), w.rows, hex.EncodeToString(w.sum.Sum(nil))})
	return errors.Join(err, w.to.Flush())
}

func (w *writer) hashes() map[string]string {
	sums := map[string]string{}
	for name, sum := range w.objects {
		sums[name] = hex.EncodeToString(sum.Sum(nil))
	}
	return sums
}

// Errors that concern a whole file. Other errors name a line.
var (
	errTruncated = errors.New("the file is truncated: its last line, with the checksum, is missing")
	errAltered   = errors.New("the file was altered: its checksum is wrong")
)

// reader reads a file line by line and checks its form.
type reader struct {
	lines  *bufio.Scanner
	number int // of the line
	sum    hash.Hash
	header header
	end    *end
	last   *page // the last page that was read, without its values
	seen   end   // objects and rows so far
}

func newReader(from io.Reader) (*reader, error) {
	r := &reader{lines: bufio.NewScanner(from), sum: sha256.New()}
	r.lines.Buffer(make([]byte, 64<<10), maxLineBytes)
	r.lines.Split(wholeLines)
	line, err := r.next()
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(line, &r.header) != nil || r.header.Format != Format {
		return nil, errors.New("the file is no export of a deployment: its first line is not the header")
	}
	if r.header.Version != FormatVersion {
		return nil, fmt.Errorf("the file has format version %d and this program reads version %d; use the version of postern that made it, or a newer one", r.header.Version, FormatVersion)
	}
	return r, nil
}

// wholeLines splits a text at line feeds. If a line does not end with a line feed, it was cut off.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i+1], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errTruncated
	}
	return 0, nil, nil
}

// next returns the next line. The end of the file is an error.
func (r *reader) next() ([]byte, error) {
	r.number++
	if r.lines.Scan() {
		return r.lines.Bytes(), nil
	}
	switch err := r.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, r.fault(fmt.Sprintf("is longer than %d bytes", maxLineBytes))
	case err != nil:
		return nil, err
	}
	return nil, errTruncated
}

func (r *reader) fault(text string) error {
	return fmt.Errorf("line %d of the file %s", r.number, text)
}

// page returns the next page. After the last page, it compares the checksum and returns nil.
func (r *reader) page() (*page, error) {
	if r.number == 1 {
		r.sum.Write(r.lines.Bytes())
	}
	line, err := r.next()
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(line, []byte(`{"objects":`)) {
		return nil, r.finish(line)
	}
	r.sum.Write(line)
	var p page
	if strict(line, &p) != nil {
		return nil, r.fault("is not a page of an object")
	}
	if problem := r.follows(&p); problem != "" {
		return nil, r.fault(problem)
	}
	if r.last == nil || r.last.Object != p.Object {
		r.seen.Objects++
	}
	r.seen.Rows += len(p.Rows)
	r.last = &page{Object: p.Object, Last: p.Last, Rows: []row{{Key: p.Rows[len(p.Rows)-1].Key}}}
	return &p, nil
}

func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}

// follows describes why a page cannot follow the previous one. Objects must be sorted by rank and name, and each must
// appear only once. Rows must be sorted by key.
func (r *reader) follows(p *page) string {
	key := ""
	switch {
	case len(p.Rows) == 0:
		return "has no rows"
	case rank(p.Object) < 0:
		return "has an object of an unknown kind"
	case r.last == nil && p.Object != directoryObject:
		return "must begin the directory"
	case r.last == nil:
	case r.last.Object == p.Object && !r.last.Last:
		key = r.last.Rows[0].Key
	case r.last.Object == p.Object, !r.last.Last, rank(p.Object) < rank(r.last.Object),
		rank(p.Object) == rank(r.last.Object) && p.Object <= r.last.Object:
		return "has an object out of order"
	}
	for i := range p.Rows {
		if p.Rows[i].Key <= key {
			return "has a row out of order"
		}
		key = p.Rows[i].Key
	}
	return ""
}

// rank returns the position of an object's kind in a file. It is negative for unknown kinds.
func rank(object string) int {
	switch {
	case object == directoryObject:
		return 0
	case strings.HasPrefix(object, ledgerPrefix):
		return 1
	case strings.HasPrefix(object, meterPrefix):
		return 2
	}
	return -1
}

func (r *reader) finish(line []byte) error {
	r.end = new(end)
	switch {
	case strict(line, r.end) != nil:
		return errAltered
	case r.end.SHA256 != hex.EncodeToString(r.sum.Sum(nil)):
		return errAltered
	case r.last != nil && !r.last.Last, r.end.Objects != r.seen.Objects, r.end.Rows != r.seen.Rows:
		return errAltered
	}
	if r.lines.Scan() || r.lines.Err() != nil {
		return errors.New("the file was altered: bytes follow its last line")
	}
	return nil
}
