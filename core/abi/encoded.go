package abi

// Encoded is a list whose elements stay encoded. It is for rows whose list is usually copied and not read. Its format
// is that of List.
type Encoded[T any] struct {
	count int
	buf   []byte
}

// Len returns the number of elements.
func (l *Encoded[T]) Len() int { return l.count }

// Fields encodes or decodes the list in a message. When decoding, it checks all elements, which then share memory
// with the reader's buffer.
func (l *Encoded[T]) Fields(f *Fields, element func(*Fields, *T)) {
	if f.r == nil {
		f.w.Uint(uint64(l.count))
		f.w.Buf = append(f.w.Buf, l.buf...)
		return
	}
	l.count = f.r.Count()
	r := Reader{Buf: f.r.Buf}
	r.ShareTexts()
	fields, checked := ReadFrom(&r), new(T)
	for range l.count {
		element(fields, checked)
	}
	if r.failed {
		f.r.fail()
	}
	l.buf = f.r.until(r.Buf)
}

// Encoded encodes or decodes fields that stay encoded. When decoding, it calls read, which must read these fields.
// The result shares memory with the reader's buffer.
func (f *Fields) Encoded(encoded *[]byte, read func()) {
	if f.r == nil {
		f.w.Buf = append(f.w.Buf, *encoded...)
		return
	}
	start := Reader{Buf: f.r.Buf}
	read()
	*encoded = start.until(f.r.Buf)
}

// until reads the bytes before rest, which must be the end of the buffer.
func (r *Reader) until(rest []byte) []byte {
	n := max(0, len(r.Buf)-len(rest)) // the reader may have failed
	v := r.Buf[:n:n]
	r.Buf = r.Buf[n:]
	return v
}

// Append adds an element. The list may have up to most elements. If it already has that many, Append removes the
// first one and calls takePlace with the added and the removed element.
func (l *Encoded[T]) Append(most int, added *T, element func(*Fields, *T), takePlace func(added, of *T)) {
	if l.count == most {
		r, first := Reader{Buf: l.buf}, new(T)
		element(ReadFrom(&r), first)
		takePlace(added, first)
		l.buf, l.count = r.Buf, l.count-1
	}
	w := Writer{Buf: l.buf} // a buffer that was read ends with the list, so this copies it
	element(WriteTo(&w), added)
	l.buf, l.count = w.Buf, l.count+1
}

// Decode returns the elements.
func (l *Encoded[T]) Decode(element func(*Fields, *T)) []T {
	fields, list := ReadFrom(&Reader{Buf: l.buf}), make([]T, l.count)
	for i := range list {
		element(fields, &list[i])
	}
	return list
}
