package abi

// Encoded is a list whose elements stay encoded, for rows whose list is mostly passed on. Its format is that of List.
type Encoded[T any] struct {
	count int
	buf   []byte
}

// Len is the number of elements.
func (l *Encoded[T]) Len() int { return l.count }

// Fields is the list in a message. When read, all elements are checked; they share memory with the reader's buffer.
func (l *Encoded[T]) Fields(f *Fields, element func(*Fields, *T)) {
	if f.r == nil {
		f.w.Uint(uint64(l.count))
		f.w.Buf = append(f.w.Buf, l.buf...)
		return
	}
	l.count = f.r.Count()
	checked := new(T)
	l.buf = f.r.skip(l.count, func() { element(f, checked) })
}

// skip calls read n times and returns the bytes that it has read.
func (r *Reader) skip(n int, read func()) []byte {
	from := r.Buf
	for range n {
		read()
	}
	end := len(from) - len(r.Buf)
	return from[:end:end]
}

// Unchanged is an element of a list that keeps its encoding while it is unchanged: a writer copies that if it is not nil. The
// encoding shares memory with the reader's buffer.
func Unchanged[T any](f *Fields, encoding *[]byte, p *T, element func(*Fields, *T)) {
	switch {
	case f.r != nil:
		*encoding = f.r.skip(1, func() { element(f, p) })
	case *encoding != nil:
		f.w.Buf = append(f.w.Buf, *encoding...)
	default:
		element(f, p)
	}
}

// Append adds an element. If there are most already, it removes the first.
func (l *Encoded[T]) Append(most int, added *T, element func(*Fields, *T)) {
	if l.count == most {
		r := Reader{Buf: l.buf}
		element(ReadFrom(&r), new(T))
		l.buf, l.count = r.Buf, l.count-1
	}
	w := Writer{Buf: l.buf[:len(l.buf):len(l.buf)]} // the bytes after it are not the list's
	element(WriteTo(&w), added)
	l.buf, l.count = w.Buf, l.count+1
}

// Decode returns the elements.
func (l *Encoded[T]) Decode(element func(*Fields, *T)) []T {
	r := Reader{Buf: l.buf}
	list := make([]T, l.count)
	for i := range list {
		element(ReadFrom(&r), &list[i])
	}
	return list
}
