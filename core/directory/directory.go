// Package directory implements the object that stores a deployment's projects and keys as versioned documents.
// Commits are optimistic, which means that they fail if a document was changed in the meantime. There is one
// Directory, named Name.
package directory

import "github.com/postern-ai/postern/core/abi"

// Name is the name of the one Directory.
const Name = "directory"

// The object's rows are documents with their versions, the number of the last outbox row, the progress of republish,
// and the projects' chains of events.
const (
	rowDocument = "d/"
	rowSeq      = "seq"
)

// Every command starts with an opcode.
const (
	opList     = 1
	opCommit   = 2
	opEvents   = 3
	opForget   = 4
	opProgress = 5
	opRead     = 6
	// opCommitMany is opCommit with a list of projects to republish.
	opCommitMany  = 7
	opUnpublished = 8
)

// Limits of one command, which keep an object's step small.
const (
	maxList   = 1000
	MaxWrites = 1000
)

// List requests at most Limit documents whose key starts with Prefix and is greater than After. If Prefix is the
// complete key of a document, that document comes first.
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

// Write is one change in a Commit. Version must be the document's current version, or 0 if the document does not
// exist.
type Write struct {
	Key     string
	Version uint64
	Value   []byte // empty: delete the document
	Event   Event  // if it names a project, Value is also appended to the project's chain
}

// Commit makes all writes, or none if a version does not match. The deliveries are then made in order, each at least
// once. The settings of the projects in Republish, which contains IDs, are also delivered to all of their keys.
type Commit struct {
	Writes     []Write
	Deliveries []abi.Delivery
	Republish  []string
}

// Encode returns the command.
func (c *List) Encode() []byte {
	var w abi.Writer
	w.Uint(opList)
	w.String(c.Prefix)
	w.String(c.After)
	w.Uint(c.Limit)
	return w.Buf
}

// DecodeDocuments decodes the reply to List.
func DecodeDocuments(data []byte) ([]Document, error) {
	r := abi.Reader{Buf: data}
	var docs []Document
	for n := r.Count(); n > 0; n-- {
		docs = append(docs, Document{r.String(), r.Uint(), r.Bytes()})
	}
	return docs, r.End()
}

// Encode returns the command.
func (c *Commit) Encode() []byte {
	var w abi.Writer
	many := len(c.Republish) > 1 // Directories of older versions know only one
	if many {
		w.Uint(opCommitMany)
	} else {
		w.Uint(opCommit)
	}
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
	if many {
		w.Uint(uint64(len(c.Republish)))
	} else if len(c.Republish) == 0 {
		w.String("")
	}
	for _, id := range c.Republish {
		w.String(id)
	}
	writeEvents(&w, c.Writes)
	return w.Buf
}

func decodeCommit(r *abi.Reader, op uint64) (c Commit, err error) {
	for n := r.Count(); n > 0; n-- {
		c.Writes = append(c.Writes, Write{Key: r.String(), Version: r.Uint(), Value: r.Bytes()})
	}
	for n := r.Count(); n > 0; n-- {
		d, err := abi.DecodeDelivery(r.Bytes())
		if err != nil {
			return c, err
		}
		c.Deliveries = append(c.Deliveries, d)
	}
	if op == opCommitMany {
		for n := r.Count(); n > 0; n-- {
			c.Republish = append(c.Republish, r.String())
		}
	} else if id := r.String(); id != "" {
		c.Republish = []string{id}
	}
	readEvents(r, c.Writes)
	return c, r.Err()
}

// DecodeConflict decodes the reply to Commit, which is the key whose version did not match, or "" after success.
func DecodeConflict(data []byte) (string, error) {
	r := abi.Reader{Buf: data}
	key := r.String()
	return key, r.End()
}

// Reads returns the row ranges that a command needs. An empty command stands for the alarm.
func Reads(command []byte) ([]abi.Range, error) {
	if len(command) == 0 {
		return republishReads(), nil
	}
	r := abi.Reader{Buf: command}
	switch op := r.Uint(); op {
	case opList:
		prefix, after, limit := r.String(), r.String(), min(r.Uint(), maxList)
		start := rowDocument + max(prefix, after+"\x00")
		if after == "" {
			start = rowDocument + prefix
		}
		return []abi.Range{{Start: start, End: rowDocument + prefix + "\x7f", Limit: limit}}, r.End()
	case opProgress:
		return progressReads(r.String()), r.End()
	case opUnpublished:
		return unpublishedReads(&r)
	case opRead:
		return documentReads(&r)
	case opCommit, opCommitMany:
		commit, err := decodeCommit(&r, op)
		ranges := []abi.Range{{Start: rowSeq}}
		for _, write := range commit.Writes {
			ranges = append(ranges, abi.Range{Start: rowDocument + write.Key})
		}
		return append(ranges, chainHeads(commit.Writes)...), err
	case opEvents, opForget:
		return chainReads(command)
	}
	return nil, abi.ErrMalformed
}

// Apply runs a command on its rows.
func Apply(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	if len(in.Command) == 0 {
		return republish(in)
	}
	r := abi.Reader{Buf: in.Command}
	switch op := r.Uint(); op {
	case opList, opRead:
		return list(in.Rows), nil
	case opUnpublished:
		return unpublished(in.Rows), nil
	case opProgress:
		return progress(in.Rows), nil
	case opCommit, opCommitMany:
		commit, err := decodeCommit(&r, op)
		if err != nil {
			return abi.ObjectOutput{}, err
		}
		return apply(&commit, in)
	case opEvents, opForget:
		return applyChain(in)
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
	if len(commit.Writes) > MaxWrites || len(commit.Republish) > MaxWrites {
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
	for _, id := range commit.Republish {
		out.Puts = append(out.Puts, abi.Row{Key: rowRepublish + id})
		out.AlarmMs = in.NowMs + 1
	}
	events, err := appendEvents(commit.Writes, in)
	out.Puts = append(out.Puts, events...)
	out.Reply = []byte{0}
	return out, err
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
