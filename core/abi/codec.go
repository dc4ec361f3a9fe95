// Package abi defines the wire format between the core and its hosts. The file wire.schema describes the messages and
// the constants that both sides share. The types, constants and message codecs are generated from it, for Go and for
// worker/gateway/src/abi.ts. testdata/abi/ has vectors that both must match.
//
// The primitives below also encode the states, rows, commands and replies of the core's packages, which hosts do not
// decode.
package abi

//go:generate go run ../../internal/generateabi ../..

import "errors"

// ErrMalformed is the only decoding error. It means that this package did not encode the input.
var ErrMalformed = errors.New("abi: malformed message")

// The primitives are not inlined, because they have hundreds of call sites and inlining would make the module 50%
// larger.

// Writer appends values to Buf.
type Writer struct{ Buf []byte }

// Uint appends a number.
//
//go:noinline
func (w *Writer) Uint(v uint64) {
	if v < 0x80 { // most numbers, without a loop
		w.Buf = append(w.Buf, byte(v))
		return
	}
	for v >= 0x80 {
		w.Buf = append(w.Buf, byte(v)|0x80)
		v >>= 7
	}
	w.Buf = append(w.Buf, byte(v))
}

// Int appends a signed number in zigzag encoding. Only rows, states, commands and their replies contain signed numbers.
func (w *Writer) Int(v int64) { w.Uint(uint64(v<<1) ^ uint64(v>>63)) }

// Bool appends 0 or 1.
func (w *Writer) Bool(v bool) {
	if v {
		w.Buf = append(w.Buf, 1)
	} else {
		w.Buf = append(w.Buf, 0)
	}
}

// Bytes appends a byte string.
//
//go:noinline
func (w *Writer) Bytes(v []byte) {
	w.Uint(uint64(len(v)))
	w.Buf = append(w.Buf, v...)
}

// String appends a string.
//
//go:noinline
func (w *Writer) String(v string) {
	w.Uint(uint64(len(v)))
	w.Buf = append(w.Buf, v...)
}

// Reader reads values from Buf. After the first malformed value it returns only zero values, and Err returns an error.
type Reader struct {
	Buf    []byte
	texts  string // Buf when ShareTexts was called; empty: strings are copied one by one
	failed bool
}

// ShareTexts makes all strings parts of one copy of Buf. The copy stays in memory as long as any of the strings. Buf
// must not be replaced afterward.
func (r *Reader) ShareTexts() { r.texts = string(r.Buf) }

//go:noinline
func (r *Reader) fail() {
	r.failed = true
	r.Buf = nil
}

// Err returns ErrMalformed if any read so far failed.
func (r *Reader) Err() error {
	if r.failed {
		return ErrMalformed
	}
	return nil
}

// End returns ErrMalformed if any read failed or bytes are left.
func (r *Reader) End() error {
	if len(r.Buf) != 0 {
		r.fail()
	}
	return r.Err()
}

// Uint reads a number. Encodings longer than necessary are malformed, because every value has exactly one encoding.
//
//go:noinline
func (r *Reader) Uint() uint64 {
	if len(r.Buf) > 0 && r.Buf[0] < 0x80 { // most numbers, without a loop
		v := r.Buf[0]
		r.Buf = r.Buf[1:]
		return uint64(v)
	}
	var v uint64
	for i := 0; i < len(r.Buf) && i < 10; i++ {
		b := r.Buf[i]
		if i == 9 && b > 1 || i > 0 && b == 0 {
			break
		}
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.Buf = r.Buf[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

// Int reads a signed number.
func (r *Reader) Int() int64 {
	v := r.Uint()
	return int64(v>>1) ^ -int64(v&1)
}

// Bool reads 0 or 1.
func (r *Reader) Bool() bool {
	v := r.Uint()
	if v > 1 {
		r.fail()
	}
	return v == 1
}

// Bytes reads a byte string. The result shares memory with Buf.
//
//go:noinline
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.Buf)) {
		r.fail()
		return nil
	}
	v := r.Buf[:n:n]
	r.Buf = r.Buf[n:]
	return v
}

// String reads a string.
//
//go:noinline
func (r *Reader) String() string {
	v := r.Bytes()
	if r.texts == "" {
		return string(v)
	}
	end := len(r.texts) - len(r.Buf)
	return r.texts[end-len(v) : end]
}

// Byte reads a kind or a class. A number above 255 is malformed and does not wrap around.
func (r *Reader) Byte() uint8 {
	v := r.Uint()
	if v > 255 {
		r.fail()
		return 0
	}
	return uint8(v)
}

// Count reads the length of a list. Each element takes at least one byte, so a length above the number of remaining
// bytes is malformed. A hostile length therefore cannot cause a large allocation.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.Buf)) {
		r.fail()
		return 0
	}
	return int(n)
}

// Header is one HTTP header field. Names are in lowercase.
type Header struct{ Name, Value string }

func (w *Writer) headers(headers []Header) {
	w.Uint(uint64(len(headers)))
	for _, h := range headers {
		w.String(h.Name)
		w.String(h.Value)
	}
}

func (r *Reader) headers() []Header {
	n := r.Count()
	if n == 0 {
		return nil
	}
	headers := make([]Header, n)
	for i := range headers {
		headers[i] = Header{r.String(), r.String()}
	}
	return headers
}

func (w *Writer) textList(texts []string) {
	w.Uint(uint64(len(texts)))
	for _, text := range texts {
		w.String(text)
	}
}

func (r *Reader) textList() []string {
	n := r.Count()
	if n == 0 {
		return nil
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = r.String()
	}
	return texts
}
