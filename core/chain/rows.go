package chain

import "github.com/postern-ai/postern/core/abi"

// An object stores one row per entry. The keys sort the newest entry first, so no separate row is needed to find it.
const (
	maxSeq = 1<<48 - 1
	format = 1
	// endOfKeys follows every hexadecimal digit.
	endOfKeys = "g"
)

// Limits of one command.
const (
	MaxPage      = 100     // entries of one Page
	maxPageBytes = 256_000 // total payload of one Page, unless it has only one entry
	MaxForget    = 500     // entries that one Prune deletes
)

// Rows is the prefix of the row keys under which an object stores a chain.
type Rows string

func (r Rows) key(seq uint64) string { return string(r) + abi.Fixed(maxSeq-seq) }

// Head returns the row range of the newest entry.
func (r Rows) Head() abi.Range {
	return abi.Range{Start: string(r), End: string(r) + endOfKeys, Limit: 1}
}

// Stored is an entry in its stored form.
type Stored struct {
	Entry
	Oldest uint64 // the number of the chain's oldest entry kept; current only in the newest entry
}

func (s *Stored) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&s.Oldest)
	f.Uint(&s.Seq)
	f.Uint(&s.TimeMs)
	f.String(&s.Kind)
	f.Bytes(&s.Payload)
	for _, h := range [...]*Hash{&s.PayloadHash, &s.Previous, &s.Hash} {
		hashField(f, h)
	}
}

func hashField(f *abi.Fields, h *Hash) {
	bytes := h[:]
	f.Bytes(&bytes)
	if !f.Reading() {
		return
	}
	if len(bytes) != len(h) {
		f.Fail()
		return
	}
	copy(h[:], bytes)
}

// Find returns the newest entry among rows, or nil if there is none. rows may include other rows.
func (r Rows) Find(rows []abi.Row) (*Stored, error) {
	var newest []byte
	key := string(r) + endOfKeys
	for _, row := range rows {
		if row.Key < key && len(row.Key) > len(r) && row.Key[:len(r)] == string(r) {
			key, newest = row.Key, row.Value
		}
	}
	if newest == nil {
		return nil, nil
	}
	head := &Stored{}
	err := abi.DecodeFields(newest, head.fields)
	return head, err
}

// Append returns the row of the entry that follows head. head is the result of Find on the newest row, or nil if the
// chain is empty.
func (r Rows) Append(id ID, head *Stored, nowMs uint64, kind string, payload []byte) abi.Row {
	next := Stored{Oldest: 1}
	if head == nil {
		next.Entry = Append(id, nil, nowMs, kind, payload)
	} else {
		next.Oldest, next.Entry = head.Oldest, Append(id, &head.Entry, nowMs, kind, payload)
	}
	return r.row(&next)
}

func (r Rows) row(s *Stored) abi.Row {
	return abi.Row{Key: r.key(s.Seq), Value: abi.EncodeFields(0, 256+len(s.Payload), s.fields)}
}
