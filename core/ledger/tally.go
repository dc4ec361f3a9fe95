package ledger

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// Root is the name of the deployment's Ledger, without a region. It counts requests without a known key: refusals
// with 401 for a missing, malformed or unknown key, refusals with 429 for an address that has sent too many unknown
// keys, and requests that ended before their key was read. The name of a project's Ledger is the project's ID, which
// starts with "proj_".
const Root = doc.Root

// Tally is the command with which an isolate reports a key's unserved requests since its last tally. Its numbers make
// repeats recognizable. It has no reply.
type Tally struct {
	Source  uint64 // a random number of the isolate's entry for the key
	Seq     uint64 // grows by one with each tally of a source
	KeyID   string // empty: no known key
	Counts  []EndCount
	Records []Record
}

// Record describes one request that was not served. Body is a JSON object that package exchange writes and the admin
// API shows.
type Record struct {
	AtMs     uint64 // when the request arrived
	ID       string
	KeyID    string // empty in a Tally, which has the key itself
	End      End
	Status   uint64
	Model    string
	Provider string
	Body     []byte
}

func (r *Record) fields(f *abi.Fields) {
	f.Uint(&r.AtMs)
	f.String(&r.ID)
	f.String(&r.KeyID)
	abi.Enum(f, &r.End)
	f.Uint(&r.Status)
	f.String(&r.Model)
	f.String(&r.Provider)
	f.Bytes(&r.Body)
	if r.End >= Ends {
		f.Fail()
	}
}

// RecordFields lists the fields of a record.
func RecordFields(f *abi.Fields, r *Record) { r.fields(f) }

// EndCountFields lists the fields of a count.
func EndCountFields(f *abi.Fields, c *EndCount) { endCountFields(f, c) }

// Encode encodes the command.
func (t *Tally) Encode() []byte {
	return abi.EncodeFields(opTally, 128+32*len(t.Counts)+512*len(t.Records), t.fields)
}

func (t *Tally) fields(f *abi.Fields) {
	f.Uint(&t.Source)
	f.Uint(&t.Seq)
	f.String(&t.KeyID)
	abi.List(f, &t.Counts, endCountFields)
	abi.List(f, &t.Records, RecordFields)
}

// DecodeTally decodes the command.
func DecodeTally(data []byte) (t Tally, err error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != opTally {
		return t, abi.ErrMalformed
	}
	t.fields(abi.ReadFrom(&r))
	return t, r.End()
}

// tallies is row "qs": the last number of each source, and of the chunks of records.
type tallies struct {
	chunk   uint64 // number of the newest chunk
	sources []source
}

type source struct{ id, seq uint64 }

// maxSources is the number of sources whose repeats are recognized. They are the ones with the newest tallies. An
// isolate repeats a tally within seconds.
const maxSources = 256

func (t *tallies) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&t.chunk)
	abi.List(f, &t.sources, func(f *abi.Fields, s *source) {
		f.Uint(&s.id)
		f.Uint(&s.seq)
	})
}

// takes reports whether a tally is new, and remembers it.
func (t *tallies) takes(id, seq uint64) bool {
	at := slices.IndexFunc(t.sources, func(s source) bool { return s.id == id })
	if at >= 0 {
		if seq <= t.sources[at].seq {
			return false
		}
		t.sources = slices.Delete(t.sources, at, at+1)
	}
	if len(t.sources) == maxSources {
		t.sources = t.sources[1:]
	}
	t.sources = append(t.sources, source{id, seq})
	return true
}

func (t *Tally) reads() []abi.Range {
	ranges := []abi.Range{{Start: rowTallies}}
	for i := range t.Counts {
		for _, key := range endsKeys(t.Counts[i].Hour, t.KeyID) {
			r := abi.Range{Start: key}
			if !slices.Contains(ranges, r) {
				ranges = append(ranges, r)
			}
		}
	}
	return ranges
}

// apply counts a tally and stores its records. The newest chunk is read in a second round.
func (t *Tally) apply(c *call) error {
	var last tallies
	if row, ok := c.row(rowTallies); ok {
		if err := abi.DecodeFields(row, last.fields); err != nil {
			return err
		}
	}
	newest := chunkKey(last.chunk)
	if len(t.Records) > 0 && last.chunk > 0 && c.in.Round == 0 {
		c.out.Ranges = []abi.Range{{Start: newest}}
		return nil
	}
	if !last.takes(t.Source, t.Seq) {
		return nil
	}
	if err := c.addEnds(t); err != nil {
		return err
	}
	c.dueSummary()
	if err := c.addRecords(t, &last); err != nil {
		return err
	}
	c.put(rowTallies, abi.EncodeFields(0, 16+12*len(last.sources), last.fields))
	return nil
}

// Chunk is a stored list of records.
type Chunk struct {
	Seq     uint64 // cursor for Records.Before
	Records []Record
}

func (k *Chunk) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&k.Seq)
	abi.List(f, &k.Records, RecordFields)
}

// KeepChunks is the number of chunks kept. A chunk takes records until it has chunkBytes. The last tally may exceed
// that. A record has at most MaxRecordBytes. Together, these limits keep the last 10,000 records in at most 24 MiB.
const (
	KeepChunks     = 1024
	chunkBytes     = 12 << 10
	MaxRecordBytes = 1200
)

// chunkKey returns the row key of a chunk. The rows form a ring buffer, so none needs to be deleted.
func chunkKey(seq uint64) string { return rowRecords + abi.Fixed(seq%KeepChunks) }

// addRecords adds the records of a tally to the newest chunk, or to the next one.
func (c *call) addRecords(t *Tally, last *tallies) error {
	if len(t.Records) == 0 {
		return nil
	}
	var k Chunk
	row, ok := c.row(chunkKey(last.chunk))
	if last.chunk == 0 || !ok || len(row) >= chunkBytes {
		last.chunk++
		k.Seq = last.chunk
	} else if err := abi.DecodeFields(row, k.fields); err != nil {
		return err
	}
	for i := range t.Records {
		r := &t.Records[i]
		r.KeyID = t.KeyID
		k.Records = append(k.Records, *r)
	}
	c.put(chunkKey(last.chunk), abi.EncodeFields(0, len(row)+512*len(t.Records), k.fields))
	return nil
}

// Records is the command that requests chunks of records, newest first: at most Limit chunks with a Seq below Before.
// If Before is 0, it starts with the newest chunk.
type Records struct{ Before, Limit uint64 }

func (*Records) reads() []abi.Range { return []abi.Range{{Start: rowTallies}} }

func (q *Records) apply(c *call) error {
	var t tallies
	if row, ok := c.row(rowTallies); ok {
		if err := abi.DecodeFields(row, t.fields); err != nil {
			return err
		}
	}
	return c.ring(q.Before, q.Limit, t.chunk, KeepChunks, chunkKey)
}

// Encode encodes the command.
func (q *Records) Encode() []byte { return abi.EncodeFields(opRecords, 16, q.fields) }

func (q *Records) fields(f *abi.Fields) {
	f.Uint(&q.Before)
	f.Uint(&q.Limit)
}

// DecodeRecords decodes the reply to Records.
func DecodeRecords(data []byte) (chunks []Chunk, err error) {
	r := abi.Reader{Buf: data}
	for n := r.Count(); n > 0; n-- {
		var k Chunk
		if err := abi.DecodeFields(r.Bytes(), k.fields); err != nil {
			return nil, err
		}
		chunks = append(chunks, k)
	}
	return chunks, r.End()
}
