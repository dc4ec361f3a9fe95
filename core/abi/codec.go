// Package abi is the wire between the core and its hosts: the codec, the events, the actions and the
// object results. worker/gateway/src/abi.ts mirrors it; testdata/abi/ holds vectors both must match.
//
// The codec has two forms. A number is an unsigned LEB128 varint; byte strings and texts are a number
// (their length) and then that many bytes. Everything else is a sequence of those two. Numbers that cross
// to a host stay below 2^53, so that a host written in JavaScript reads them exactly; money never crosses
// as a number, it stays inside rows and commands, which hosts do not open.
package abi

import "errors"

// Version changes with any change to this package's layouts. Hosts compare it at start.
const Version = 4

// ErrMalformed is the only decoding error: what was read is not what this package writes.
var ErrMalformed = errors.New("abi: malformed message")

// The primitives are not inlined: at their hundreds of call sites that would make the module half as big again.

// Writer appends values to Buf.
type Writer struct{ Buf []byte }

// Uint appends a number.
//
//go:noinline
func (w *Writer) Uint(v uint64) {
	for v >= 0x80 {
		w.Buf = append(w.Buf, byte(v)|0x80)
		v >>= 7
	}
	w.Buf = append(w.Buf, byte(v))
}

// Int appends a signed number, zigzag-coded. Only rows and commands hold these.
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

// String appends a text.
//
//go:noinline
func (w *Writer) String(v string) {
	w.Uint(uint64(len(v)))
	w.Buf = append(w.Buf, v...)
}

// Reader takes values off Buf. After the first malformed value it returns zero values only; Err tells.
type Reader struct {
	Buf    []byte
	failed bool
}

//go:noinline
func (r *Reader) fail() {
	r.failed = true
	r.Buf = nil
}

// Err is ErrMalformed if any read so far failed.
func (r *Reader) Err() error {
	if r.failed {
		return ErrMalformed
	}
	return nil
}

// End is Err, and ErrMalformed too if bytes are left over.
func (r *Reader) End() error {
	if len(r.Buf) != 0 {
		r.fail()
	}
	return r.Err()
}

// Uint takes a number. Encodings longer than needed are malformed: every value has one form.
//
//go:noinline
func (r *Reader) Uint() uint64 {
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

// Int takes a signed number.
func (r *Reader) Int() int64 {
	v := r.Uint()
	return int64(v>>1) ^ -int64(v&1)
}

// Bool takes 0 or 1.
func (r *Reader) Bool() bool {
	v := r.Uint()
	if v > 1 {
		r.fail()
	}
	return v == 1
}

// Bytes takes a byte string. The result shares memory with Buf.
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

// String takes a text.
//
//go:noinline
func (r *Reader) String() string { return string(r.Bytes()) }

// Byte takes a number that is a kind or a class: one above 255 must not be read as another.
func (r *Reader) Byte() uint8 {
	v := r.Uint()
	if v > 255 {
		r.fail()
		return 0
	}
	return uint8(v)
}

// Count takes the length of a list whose elements each take at least one byte, so that a hostile length
// cannot make the reader allocate more than the message is long.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.Buf)) {
		r.fail()
		return 0
	}
	return int(n)
}
