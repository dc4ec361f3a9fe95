// Package cached defines the format of cached responses, their keys, and the stores that keep them.
package cached

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider"
)

// Entry is a cached response. Only complete responses with reported usage are stored.
type Entry struct {
	StoredMs  uint64
	ExpiresMs uint64
	Provider  string
	Model     string
	Usage     chat.Usage
	Dropped   string // the names of parameters that the provider did not get
	Raw       bool   // Body is the provider's original response in the caller's dialect; otherwise, Body contains encoded deltas
	Global    bool   // KV has the response, or will have it
	Body      []byte
}

const (
	entryFormat   = 5
	checksumBytes = 8
)

// Encode returns the entry as it is stored: a checksum, the format and the fields.
func (e *Entry) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, checksumBytes, 128+len(e.Body))}
	w.Uint(entryFormat)
	e.fields(abi.WriteTo(&w))
	sum := Checksum(w.Buf[checksumBytes:])
	for i := range checksumBytes {
		w.Buf[i] = byte(sum >> (8 * i))
	}
	return w.Buf
}

func (e *Entry) fields(f *abi.Fields) {
	f.Uint(&e.StoredMs)
	f.Uint(&e.ExpiresMs)
	f.String(&e.Provider)
	f.String(&e.Model)
	e.Usage.Fields(f)
	f.String(&e.Dropped)
	f.Flags(&e.Raw, &e.Global)
	f.Bytes(&e.Body)
}

// Decode decodes an entry. If the entry is corrupt, ok is false.
func Decode(data []byte) (e Entry, ok bool) {
	if len(data) < checksumBytes {
		return e, false
	}
	var sum uint64
	for i := range checksumBytes {
		sum |= uint64(data[i]) << (8 * i)
	}
	r := abi.Reader{Buf: data[checksumBytes:]}
	if sum != Checksum(r.Buf) || r.Uint() != entryFormat {
		return e, false
	}
	e.fields(abi.ReadFrom(&r))
	return e, r.End() == nil
}

// Checksum returns the FNV-1a hash of data. It detects corruption. Tampering is not a concern, because only this
// gateway writes the entries.
func Checksum(data []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, b := range data {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return sum
}

// Fresh reports whether the entry has not expired and is young enough for the caller. maxAge is the maximum age that
// the caller accepts, in seconds, plus 1. If maxAge is 0, the caller accepts any age.
func (e *Entry) Fresh(nowMs, maxAge uint64) bool {
	return e.ExpiresMs > nowMs && (maxAge == 0 || e.StoredMs+(maxAge-1)*1000 >= nowMs)
}

// Response decodes the response in an entry. dialect is the caller's dialect.
func (e *Entry) Response(dialect chat.Dialect) (r chat.Response, ok bool) {
	if e.Raw {
		return provider.ForDialect(dialect).Response(gjson.ParseBytes(e.Body))
	}
	deltas, err := chat.ReadDeltas(e.Body)
	return chat.Fold(deltas), err == nil
}
