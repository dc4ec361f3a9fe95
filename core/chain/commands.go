package chain

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// Page requests a chain's state and its entries from First on, in order. The reply is limited in bytes, so it may
// have fewer than Limit entries. If the chain has any entries from First on, the reply has at least one.
type Page struct {
	Project string
	First   uint64
	Limit   uint64 // at most MaxPage; 0: only the state
}

// Fields lists the fields of the command.
func (p *Page) Fields(f *abi.Fields) {
	f.String(&p.Project)
	f.Uint(&p.First)
	f.Uint(&p.Limit)
}

// PageReply is the reply to Page.
type PageReply struct {
	Oldest  uint64 // the number of the oldest entry kept; 0: the chain is empty
	Head    Entry  // the newest entry, without its payload
	Entries []Entry
}

func (p *PageReply) fields(f *abi.Fields) {
	f.Uint(&p.Oldest)
	entryFields(f, &p.Head)
	abi.List(f, &p.Entries, entryFields)
}

func entryFields(f *abi.Fields, e *Entry) {
	s := Stored{Entry: *e}
	s.fields(f)
	*e = s.Entry
}

// DecodePageReply decodes the reply to Page.
func DecodePageReply(data []byte) (p PageReply, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

// Reads returns the row ranges that a Page needs.
func (r Rows) Reads(p *Page) []abi.Range {
	ranges := []abi.Range{r.Head()}
	limit := min(p.Limit, MaxPage)
	if limit > 0 && p.First > 0 && p.First <= maxSeq-limit {
		ranges = append(ranges, abi.Range{Start: r.key(p.First + limit - 1), End: r.key(p.First) + endOfKeys, Limit: limit})
	}
	return ranges
}

// Reply returns the reply to a Page, given the rows in its ranges. A page's rows are stored in reverse order.
func (r Rows) Reply(p *Page, rows []abi.Row) ([]byte, error) {
	var reply PageReply
	head, err := r.Find(rows)
	if err != nil || head == nil {
		return abi.EncodeFields(0, 128, reply.fields), err
	}
	reply.Oldest, reply.Head = head.Oldest, head.Entry
	reply.Head.Payload = nil
	if p.First > maxSeq-MaxPage {
		p = &Page{}
	}
	first, last := r.key(p.First), r.key(p.First+min(p.Limit, MaxPage)) // in reverse; last is exclusive
	bytes, previous := 0, first+endOfKeys
	for i := len(rows) - 1; i >= 0; i-- { // the newest entry may appear twice
		if rows[i].Key >= previous || rows[i].Key > first || rows[i].Key <= last || !strings.HasPrefix(rows[i].Key, string(r)) {
			continue
		}
		var s Stored
		if err := abi.DecodeFields(rows[i].Value, s.fields); err != nil {
			return nil, err
		}
		if bytes += len(s.Payload); bytes > maxPageBytes && len(reply.Entries) > 0 {
			break
		}
		reply.Entries = append(reply.Entries, s.Entry)
		previous = rows[i].Key
	}
	return abi.EncodeFields(0, 512+bytes, reply.fields), nil
}

// Prune deletes the oldest entries up to number Through, but at most 500 entries, and never the newest one.
type Prune struct {
	Project string
	Through uint64
}

// Fields lists the fields of the command.
func (p *Prune) Fields(f *abi.Fields) {
	f.String(&p.Project)
	f.Uint(&p.Through)
}

// Prune applies a Prune to the newest row. The reply is the number of the oldest entry kept.
func (r Rows) Prune(p *Prune, rows []abi.Row) (out abi.ObjectOutput, err error) {
	head, err := r.Find(rows)
	if err != nil {
		return out, err
	}
	oldest := uint64(0)
	if head != nil {
		end := min(p.Through+1, head.Seq, head.Oldest+MaxForget)
		for ; head.Oldest < end; head.Oldest++ {
			out.Deletes = append(out.Deletes, r.key(head.Oldest))
		}
		if len(out.Deletes) > 0 {
			out.Puts = []abi.Row{r.row(head)}
		}
		oldest = head.Oldest
	}
	out.Reply = abi.EncodeFields(0, 16, func(f *abi.Fields) { f.Uint(&oldest) })
	return out, nil
}

// DecodePruned decodes the reply to Prune, which is the number of the oldest entry kept.
func DecodePruned(data []byte) (oldest uint64, err error) {
	err = abi.DecodeFields(data, func(f *abi.Fields) { f.Uint(&oldest) })
	return oldest, err
}
