// Package directory is the object that owns a deployment's projects and keys: documents with versions, and
// commits that hold only if nobody else changed them meanwhile. There is one, named Name.
package directory

import "github.com/postern-ai/postern/core/abi"

// Name of the one Directory.
const Name = "directory"

// Rows of the object: documents with their versions, the number of the last outbox row, and what republish
// keeps.
const (
	rowDocument = "d/"
	rowSeq      = "seq"
)

// Commands start with one of these.
const (
	opList   = 1
	opCommit = 2
)

// Limits on one command, so that an object's step stays small.
const (
	maxList   = 1000
	MaxWrites = 100
)

// List asks for the documents whose key starts with Prefix and is greater than After, at most Limit. A
// whole key as Prefix gets that one document.
type List struct {
	Prefix, After string
	Limit         uint64
}

// Document is a stored value with its version, which starts at 1 and grows by 1 with each write.
type Document struct {
	Key     string
	Version uint64
	Value   []byte
}

// Write is one change of a Commit. Version must be the document's present one (0: there is none).
type Write struct {
	Key     string
	Version uint64
	Value   []byte // empty: remove
}

// Commit makes all changes, or none if any version does not hold. Deliveries are made afterwards, in order,
// at least once. Republish, if it is not empty, is the id of a project all of whose keys are then told anew
// what the project says.
type Commit struct {
	Writes     []Write
	Deliveries []abi.Delivery
	Republish  string
}

// Encode is the command.
func (c *List) Encode() []byte {
	var w abi.Writer
	w.Uint(opList)
	w.String(c.Prefix)
	w.String(c.After)
	w.Uint(c.Limit)
	return w.Buf
}

// DecodeDocuments reads the answer to List.
func DecodeDocuments(data []byte) ([]Document, error) {
	r := abi.Reader{Buf: data}
	var docs []Document
	for n := r.Count(); n > 0; n-- {
		docs = append(docs, Document{r.String(), r.Uint(), r.Bytes()})
	}
	return docs, r.End()
}

// Encode is the command.
func (c *Commit) Encode() []byte {
	var w abi.Writer
	w.Uint(opCommit)
	w.Uint(uint64(len(c.Writes)))
	for _, write := range c.Writes {
		w.String(write.Key)
		w.Uint(write.Version)
		w.Bytes(write.Value)
	}
	w.Uint(uint64(len(c.Deliveries)))
	for i := range c.Deliveries {
		w.Bytes(c.Deliveries[i].Encode())
	}
	w.String(c.Republish)
	return w.Buf
}

func decodeCommit(r *abi.Reader) (c Commit, err error) {
	for n := r.Count(); n > 0; n-- {
		c.Writes = append(c.Writes, Write{r.String(), r.Uint(), r.Bytes()})
	}
	for n := r.Count(); n > 0; n-- {
		d, err := abi.DecodeDelivery(r.Bytes())
		if err != nil {
			return c, err
		}
		c.Deliveries = append(c.Deliveries, d)
	}
	c.Republish = r.String()
	return c, r.Err()
}

// DecodeConflict reads the answer to Commit: the key whose version did not hold, or "" if all was done.
func DecodeConflict(data []byte) (string, error) {
	r := abi.Reader{Buf: data}
	key := r.String()
	return key, r.End()
}

// Reads names the rows that a command needs.
func Reads(command []byte) ([]abi.Range, error) {
	if len(command) == 0 {
		return fanReads(), nil
	}
	r := abi.Reader{Buf: command}
	switch r.Uint() {
	case opList:
		prefix, after, limit := r.String(), r.String(), min(r.Uint(), maxList)
		start := rowDocument + max(prefix, after+"\x00")
		if after == "" {
			start = rowDocument + prefix
		}
		return []abi.Range{{Start: start, End: rowDocument + prefix + "\x7f", Limit: limit}}, r.End()
	case opCommit:
		commit, err := decodeCommit(&r)
		ranges := []abi.Range{{Start: rowSeq}}
		for _, write := range commit.Writes {
			ranges = append(ranges, abi.Range{Start: rowDocument + write.Key})
		}
		return ranges, err
	}
	return nil, abi.ErrMalformed
}

// Apply runs a command on its rows.
func Apply(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	if len(in.Command) == 0 {
		return republish(in)
	}
	r := abi.Reader{Buf: in.Command}
	switch r.Uint() {
	case opList:
		return list(in.Rows), nil
	case opCommit:
		commit, err := decodeCommit(&r)
		if err != nil {
			return abi.ObjectOutput{}, err
		}
		return apply(&commit, in)
	}
	return abi.ObjectOutput{}, abi.ErrMalformed
}

func list(rows []abi.Row) abi.ObjectOutput {
	var w abi.Writer
	w.Uint(uint64(len(rows)))
	for _, row := range rows {
		d := documentOf(row)
		w.String(d.Key)
		w.Uint(d.Version)
		w.Bytes(d.Value)
	}
	return abi.ObjectOutput{Reply: w.Buf}
}

func documentOf(row abi.Row) Document {
	version, value := splitVersion(row.Value)
	return Document{row.Key[len(rowDocument):], version, value}
}

func splitVersion(stored []byte) (uint64, []byte) {
	r := abi.Reader{Buf: stored}
	return r.Uint(), r.Bytes()
}

func apply(commit *Commit, in *abi.ObjectInput) (abi.ObjectOutput, error) {
	var out abi.ObjectOutput
	rows := in.Rows
	if len(commit.Writes) > MaxWrites {
		return out, abi.ErrMalformed
	}
	for _, write := range commit.Writes {
		if version := versionOf(rows, rowDocument+write.Key); version != write.Version {
			var w abi.Writer
			w.String(write.Key)
			return abi.ObjectOutput{Reply: w.Buf}, nil
		}
		if len(write.Value) == 0 {
			out.Deletes = append(out.Deletes, rowDocument+write.Key)
			continue
		}
		var w abi.Writer
		w.Uint(write.Version + 1)
		w.Bytes(write.Value)
		out.Puts = append(out.Puts, abi.Row{Key: rowDocument + write.Key, Value: w.Buf})
	}
	if len(commit.Deliveries) > 0 {
		out.Puts = append(out.Puts, outbox(commit.Deliveries, versionOf(rows, rowSeq))...)
		out.Deliver = true
	}
	if commit.Republish != "" {
		out.Puts = append(out.Puts, abi.Row{Key: rowFan + commit.Republish})
		out.AlarmMs = in.NowMs + 1
	}
	out.Reply = []byte{0}
	return out, nil
}

func versionOf(rows []abi.Row, key string) uint64 {
	for _, row := range rows {
		if row.Key == key {
			version, _ := splitVersion(row.Value)
			return version
		}
	}
	return 0
}

func outbox(deliveries []abi.Delivery, seq uint64) []abi.Row {
	var puts []abi.Row
	for i := range deliveries {
		seq++
		puts = append(puts, abi.Row{Key: abi.OutboxKey(seq), Value: deliveries[i].Encode()})
	}
	var w abi.Writer
	w.Uint(seq)
	w.Bytes(nil)
	return append(puts, abi.Row{Key: rowSeq, Value: w.Buf})
}
