package compliance

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// Number of lines per page of an export, without the header. Some records come in batches, so a page may have more
// lines.
const (
	defaultExportLines = 200
	maxExportLines     = 500
	maxCursorBytes     = 600
)

var badCursorDetail = fault.Detail{Field: "after", Message: kernel.BadCursor}

// exportCursor is where a page of an export begins. It also fixes which part of the chain the export covers, so all
// pages agree on it.
type exportCursor struct {
	Section int    `json:"s"`
	First   uint64 `json:"f"`
	Last    uint64 `json:"l"`
	After   string `json:"a"` // position within the section; empty: its beginning
}

type exportQuery struct {
	*kernel.Query
	kind, format string
	from, to     *uint64 // Unix milliseconds; nil: no limit
	after        *exportCursor
	limit        int
}

// section is one type of line in an export.
type section struct {
	compliance.Record
	// lines returns about limit lines after a position. next is the position from which to continue, or empty if
	// there are no more lines.
	lines func(e *export, after string, limit int) (lines [][]byte, next string, err error)
}

// export builds one page of an export.
type export struct {
	*handler
	*kernel.Call
	project *directory.Project
	q       *exportQuery
	rng     *compliance.ChainRange // nil: this type of export has no events
}

// sections are the sections of each type of export, in order.
var sections = map[string][]section{
	compliance.Inventory:  {stateOf("model", (*export).modelLines)},
	compliance.Policies:   {stateOf("policy", (*export).policyLines), events},
	compliance.Violations: {events},
	compliance.Access:     {stateOf("key", (*export).keyLines), events, {compliance.Record{Record: "request", Sample: true}, (*export).requestLines}},
	compliance.Usage:      {events, stateOf("usage", (*export).usageLines)},
	compliance.Audit:      {events},
}

var events = section{compliance.Record{Record: compliance.EventRecord, Chained: true}, (*export).eventLines}

// stateOf returns a section with records of the current state. They are complete, but not part of a chain.
func stateOf(record string, lines func(*export, string, int) ([][]byte, string, error)) section {
	return section{compliance.Record{Record: record}, lines}
}

// exportCompliance serves GET …/compliance/export?type=&from=&to=&format=&limit=&after=.
func (h *handler) exportCompliance(c *kernel.Call) (kernel.Answer, error) {
	q, err := readExport(c.Request)
	if err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	e := &export{handler: h, Call: c, project: &p, q: q}
	if q.format == "cyclonedx" {
		return e.bom()
	}
	header := e.header()
	if err := e.setRange(header); err != nil {
		return kernel.Answer{}, err
	}
	lines, next, err := e.page()
	if err != nil {
		return kernel.Answer{}, err
	}
	if next != nil {
		header.Next = next.encode()
		c.Header.Set("Link", "<"+q.nextPage(c.Request, *header.Next)+`>; rel="next"`)
	}
	var signing *compliance.SigningKey
	if keys := signingKeys(h.Plane); len(keys) > 0 {
		signing = &keys[0]
	}
	body, err := compliance.Page(header, lines, signing)
	return kernel.OK(kernel.File{ContentType: "application/x-ndjson", Data: body}), err
}

func readExport(r *http.Request) (*exportQuery, error) {
	base, err := kernel.ReadQuery(r, "", "type", "from", "to", "format", "limit", "after")
	if err != nil && base == nil {
		return nil, err
	}
	base.Problems = slices.DeleteFunc(base.Problems, func(d fault.Detail) bool { return d.Field == "limit" || d.Field == "after" })
	q := &exportQuery{Query: base, limit: defaultExportLines}
	if q.kind = base.Choice("type", compliance.Types); q.kind == "" {
		q.kind = compliance.Audit
	}
	q.format = base.Choice("format", []string{"ndjson", "cyclonedx"})
	if q.format == "cyclonedx" && q.kind != compliance.Inventory {
		base.Problem("format", "cyclonedx is available for type=inventory only")
	}
	q.from, q.to = readTime(base, "from"), readTime(base, "to")
	if q.from != nil && q.to != nil && *q.from >= *q.to {
		base.Problem("to", "must be after from"+kernel.Got(base.Values.Get("to")))
	}
	if text := base.Values.Get("limit"); text != "" {
		if q.limit, err = strconv.Atoi(text); err != nil || q.limit < 1 || q.limit > maxExportLines {
			base.Problem("limit", "must be an integer between 1 and "+strconv.Itoa(maxExportLines)+kernel.Got(text))
		}
	}
	if text := base.Values.Get("after"); text != "" {
		if q.after = decodeCursor(text, q.kind); q.after == nil {
			base.Problem("after", kernel.BadCursor+kernel.Got(text))
		}
	}
	return q, base.Err()
}

// readTime reads a parameter that is a date or a time in RFC 3339 format.
func readTime(q *kernel.Query, name string) *uint64 {
	text := q.Values.Get(name)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	if err != nil || at.Year() < 1971 || at.Year() > 9999 {
		q.Problem(name, "must be a date or an RFC 3339 time, such as 2026-11-21 or 2026-11-21T08:00:00Z"+kernel.Got(text))
		return nil
	}
	ms := uint64(at.UnixMilli())
	return &ms
}

func (c *exportCursor) encode() *string {
	text, _ := json.Marshal(c) // encoding numbers and a string cannot fail
	cursor := base64.RawURLEncoding.EncodeToString(text)
	return &cursor
}

// decodeCursor returns nil if the text is not a cursor for this type of export.
func decodeCursor(text, kind string) *exportCursor {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	var c exportCursor
	if len(text) > maxCursorBytes || err != nil || !isPlain(text) || json.Unmarshal(raw, &c) != nil {
		return nil
	}
	if c.Section < 0 || c.Section >= len(sections[kind]) || !isPlain(c.After) {
		return nil
	}
	if hasChain := compliance.ObjectOf(kind) != ""; hasChain != (c.First > 0) || c.Last >= kernel.EndOfTimeMs || c.First > c.Last+1 {
		return nil
	}
	return &c
}

// isPlain reports whether text is printable ASCII, like the keys of documents and rows.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func (q *exportQuery) nextPage(r *http.Request, after string) string {
	values := url.Values{}
	for name := range q.Values {
		values.Set(name, q.Values.Get(name))
	}
	values.Set("after", after)
	return r.URL.EscapedPath() + "?" + values.Encode()
}

func (e *export) header() *compliance.Header {
	h := &compliance.Header{
		Format: compliance.Format, Version: compliance.FormatVersion, Type: e.q.kind, Project: e.project.ID,
		From: boundText(e.q.from), To: boundText(e.q.to), Checkpoints: []compliance.Checkpoint{}, PublicKeys: []string{},
		GeneratedAt: kernel.Timestamp(e.NowMs()), After: kernel.NullIfEmpty(e.q.Values.Get("after")),
	}
	for _, s := range sections[e.q.kind] {
		h.Records = append(h.Records, s.Record)
		h.Sample = h.Sample || s.Sample
	}
	for _, k := range publicKeys(signingKeys(e.handler.Plane)) {
		h.PublicKeys = append(h.PublicKeys, k.String())
	}
	return h
}

// boundText returns a bound of the period as text, or nil.
func boundText(ms *uint64) *string {
	if ms == nil {
		return nil
	}
	text := kernel.Timestamp(*ms)
	return &text
}

// setRange sets the part of the chain that the export covers. On the first page, it also sets the checkpoints of that
// part.
func (e *export) setRange(header *compliance.Header) error {
	object := compliance.ObjectOf(e.q.kind)
	if object == "" {
		return nil
	}
	state, err := chainPage(e, e.Store, e.project, object, 0, 0)
	if err != nil {
		return err
	}
	e.rng = &compliance.ChainRange{Object: object, Oldest: state.Oldest, First: max(state.Oldest, 1), Last: state.Head.Seq, Head: state.Head.Seq}
	header.Chain = e.rng
	if e.q.after != nil {
		e.rng.First, e.rng.Last = e.q.after.First, e.q.after.Last
		return nil
	}
	if e.q.from != nil {
		if e.rng.First, err = firstSince(e, e.Store, e.project, object, &state, *e.q.from); err != nil {
			return err
		}
	}
	if e.q.to != nil {
		end, err := firstSince(e, e.Store, e.project, object, &state, *e.q.to)
		if err != nil {
			return err
		}
		e.rng.Last = max(end, e.rng.First) - 1
	}
	if e.rng.Last == state.Head.Seq {
		checkpointHead(e, e.handler.Plane, e.project, object, &state.Head)
	}
	header.Checkpoints, err = e.checkpoints()
	return err
}

// maxSearched limits how many checkpoints are read to find one within an export's part of the chain.
const maxSearched = 500

// checkpoints returns the newest checkpoint that lies within the export's part of the chain. If the entries before
// that part were pruned, it also returns the checkpoint that records the pruning.
func (e *export) checkpoints() (found []compliance.Checkpoint, err error) {
	known, _, err := newestCheckpoints(e, e.Store, e.project.ID)
	if err != nil {
		return nil, err
	}
	found = []compliance.Checkpoint{}
	if c, ok := known.Prune[e.rng.Object]; ok && c.Seq+1 == e.rng.First {
		found = append(found, c)
	}
	if c, ok := known.Daily[e.rng.Object]; ok && e.covers(&c) {
		return append(found, c), nil
	}
	docs, err := e.Store.List(e, directory.List{Prefix: checkpointsOf(e.project.ID), Limit: maxSearched})
	for _, d := range docs {
		if c, err := decodeCheckpoint(d); err == nil && c.Object == e.rng.Object && e.covers(&c) {
			return append(found, c), nil
		}
	}
	return found, err
}

func (e *export) covers(c *compliance.Checkpoint) bool {
	return c.Seq+1 >= e.rng.First && c.Seq <= e.rng.Last
}

// page makes the lines of one section after another until the page is full.
func (e *export) page() (lines [][]byte, next *exportCursor, err error) {
	at := exportCursor{}
	if e.q.after != nil {
		at = *e.q.after
	}
	if e.rng != nil {
		at.First, at.Last = e.rng.First, e.rng.Last
	}
	for all := sections[e.q.kind]; at.Section < len(all); {
		if len(lines) >= e.q.limit {
			return lines, &at, nil
		}
		more, position, err := all[at.Section].lines(e, at.After, e.q.limit-len(lines))
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, more...)
		if at.After = position; position == "" {
			at.Section++
		} else if len(more) == 0 {
			return lines, &at, nil // the scan has found nothing yet, so the next page continues it
		}
	}
	return lines, nil, nil
}

// eventLines returns lines from the export's part of the chain.
func (e *export) eventLines(after string, limit int) (lines [][]byte, next string, err error) {
	seq := e.rng.First
	if after != "" {
		if seq, err = strconv.ParseUint(after, 10, 53); err != nil || seq < e.rng.First {
			return nil, "", kernel.Invalid(badCursorDetail)
		}
	}
	for len(lines) < limit && seq <= e.rng.Last {
		page, err := chainPage(e, e.Store, e.project, e.rng.Object, seq, min(uint64(limit-len(lines)), e.rng.Last+1-seq, chain.MaxPage))
		if err != nil {
			return nil, "", err
		}
		if len(page.Entries) == 0 || page.Entries[0].Seq != seq {
			return nil, "", kernel.ErrConflict // pruned in the meantime
		}
		for i := range page.Entries {
			entry := &page.Entries[i]
			lines = append(lines, compliance.AppendEvent(nil, entry, eventTime(entry), compliance.HasPayload(e.q.kind, entry.Kind)))
		}
		seq += uint64(len(page.Entries))
	}
	if seq > e.rng.Last {
		return lines, "", nil
	}
	return lines, strconv.FormatUint(seq, 10), nil
}
