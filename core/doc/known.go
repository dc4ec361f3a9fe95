package doc

import "github.com/postern-ai/postern/core/abi"

// Known is what an isolate's memory has under RecordKey after a request has read the policy: both encoded documents.
// The key's next requests then need one read. Known is never stored elsewhere.
type Known struct{ Record, Policy []byte }

// knownFormat is the first byte. Records start with the number of their format, which is smaller.
const knownFormat = 127

// Encode returns the form in memory.
func (k *Known) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, len(k.Record)+len(k.Policy)+5)}
	w.Uint(knownFormat)
	w.Bytes(k.Record)
	w.Bytes(k.Policy)
	return w.Buf
}

// SplitKnown returns the record in a value under RecordKey, and the policy if it has one. The results share memory with
// the value. If the value is malformed, so is the record.
func SplitKnown(data []byte) (record, policy []byte) {
	if len(data) == 0 || data[0] != knownFormat {
		return data, nil
	}
	r := abi.Reader{Buf: data[1:]}
	record, policy = r.Bytes(), r.Bytes()
	if r.End() != nil {
		return nil, nil
	}
	return record, policy
}
