package reply

import "github.com/postern-ai/postern/core/abi"

// Kept is a response that is stored for replay under an Idempotency-Key.
type Kept struct {
	Status  uint64
	Headers []abi.Header
	Body    []byte
}

// Encode returns the response in the form that the key's meter stores.
func (k *Kept) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 512+len(k.Body))}
	k.fields(abi.WriteTo(&w))
	return w.Buf
}

// Decode decodes a stored response. If it is malformed, ok is false.
func Decode(stored []byte) (k Kept, ok bool) {
	r := abi.Reader{Buf: stored}
	k.fields(abi.ReadFrom(&r))
	return k, r.End() == nil
}

func (k *Kept) fields(f *abi.Fields) {
	f.Uint(&k.Status)
	abi.List(f, &k.Headers, func(f *abi.Fields, h *abi.Header) {
		f.String(&h.Name)
		f.String(&h.Value)
	})
	f.Bytes(&k.Body)
}
