package directory

import "github.com/postern-ai/postern/core/abi"

// Read requests the documents with these keys, at most maxList. DecodeDocuments decodes the reply, which omits
// missing documents.
type Read struct{ Keys []string }

// Encode returns the command.
func (c *Read) Encode() []byte {
	var w abi.Writer
	w.Uint(opRead)
	w.Uint(uint64(len(c.Keys)))
	for _, key := range c.Keys {
		w.String(key)
	}
	return w.Buf
}

// documentReads returns the row ranges of the documents that a Read names.
func documentReads(r *abi.Reader) (ranges []abi.Range, err error) {
	n := r.Count()
	if n > maxList {
		return nil, abi.ErrMalformed
	}
	for ; n > 0; n-- {
		ranges = append(ranges, abi.Range{Start: rowDocument + r.String()})
	}
	return ranges, r.End()
}
