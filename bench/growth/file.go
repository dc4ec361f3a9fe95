package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"os"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/internal/transfer"
)

// file writes the format of internal/transfer, which docs/operate/move.md describes.
type file struct {
	to            *bufio.Writer
	sum           hash.Hash
	objects, rows int
	bytes         int64
}

// Limits of a line.
const (
	lineRows  = 200
	lineBytes = 1 << 20
)

type line struct {
	Object  string    `json:"object"`
	Project string    `json:"project,omitempty"`
	Rows    []lineRow `json:"rows"`
	Last    bool      `json:"last"`
}

type lineRow struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

func newFile(to *os.File) *file {
	f := &file{to: bufio.NewWriterSize(to, 1<<20), sum: sha256.New()}
	f.line(map[string]any{
		"format": transfer.Format, "version": transfer.FormatVersion, "source": "bench/growth", "exportedAt": time.Now().UTC().Format(time.RFC3339), "postern": "bench",
	})
	return f
}

func (f *file) line(v any) {
	text, err := json.Marshal(v)
	check(err)
	text = append(text, '\n')
	f.sum.Write(text)
	_, err = f.to.Write(text)
	check(err)
	f.bytes += int64(len(text))
}

// object writes an object's rows, which are sorted.
func (f *file) object(name, project string, rows []abi.Row) {
	l := line{Object: name, Project: project}
	size := 0
	f.objects++
	for i := range rows {
		l.Rows = append(l.Rows, lineRow{rows[i].Key, rows[i].Value})
		size += len(rows[i].Key) + len(rows[i].Value)
		f.rows++
		if l.Last = i == len(rows)-1; l.Last || len(l.Rows) == lineRows || size > lineBytes {
			f.line(&l)
			l.Rows, size = l.Rows[:0], 0
		}
	}
}

func (f *file) end() {
	f.line(struct {
		Objects int    `json:"objects"`
		Rows    int    `json:"rows"`
		SHA256  string `json:"sha256"`
	}{f.objects, f.rows, hex.EncodeToString(f.sum.Sum(nil))})
}

func (f *file) flush() error { return f.to.Flush() }
