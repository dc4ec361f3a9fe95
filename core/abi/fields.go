package abi

// Fields visits the fields of a message or a stored row in order, and either writes or reads each. A type lists its
// fields once, in a method that takes a *Fields and serves both directions.
//
//	func (g *Grant) fields(f *abi.Fields) {
//		f.Uint(&g.Seq)
//		f.Int(&g.AmountPico)
//	}
type Fields struct {
	w *Writer // nil: reading
	r *Reader
}

// WriteTo returns Fields that append to w.
func WriteTo(w *Writer) *Fields { return &Fields{w: w} }

// ReadFrom returns Fields that read from r. The caller checks r.End for errors.
func ReadFrom(r *Reader) *Fields { return &Fields{r: r} }

// Reading reports whether the fields are being read. It is for steps that only one direction needs, such as checking
// a format.
func (f *Fields) Reading() bool { return f.r != nil }

// Fail marks the input as malformed. It has no effect when writing.
func (f *Fields) Fail() {
	if f.r != nil {
		f.r.fail()
	}
}

// More reports whether a reader has bytes left. It returns false if the message ends before the fields that follow,
// as a message from an older version does. When writing, it returns true.
func (f *Fields) More() bool { return f.r == nil || len(f.r.Buf) > 0 }

// Group writes or reads 1 and then fields that most messages do not use, or 0 instead of the fields. When writing,
// used tells whether to write the fields. Group reports whether the fields follow.
func (f *Fields) Group(used bool) bool {
	f.Bool(&used)
	return used
}

// Uint writes or reads a number.
//
//go:noinline
func (f *Fields) Uint(p *uint64) {
	if f.r != nil {
		*p = f.r.Uint()
	} else {
		f.w.Uint(*p)
	}
}

// Int writes or reads a signed number.
//
//go:noinline
func (f *Fields) Int(p *int64) {
	if f.r != nil {
		*p = f.r.Int()
	} else {
		f.w.Int(*p)
	}
}

// Bool writes or reads 0 or 1.
//
//go:noinline
func (f *Fields) Bool(p *bool) {
	if f.r != nil {
		*p = f.r.Bool()
	} else {
		f.w.Bool(*p)
	}
}

// Bytes writes or reads a byte string. The bytes read share memory with the reader's buffer.
//
//go:noinline
func (f *Fields) Bytes(p *[]byte) {
	if f.r != nil {
		*p = f.r.Bytes()
	} else {
		f.w.Bytes(*p)
	}
}

// String writes or reads a string.
//
//go:noinline
func (f *Fields) String(p *string) {
	if f.r != nil {
		*p = f.r.String()
	} else {
		f.w.String(*p)
	}
}

// Header writes or reads a name and a value.
func (f *Fields) Header(h *Header) {
	f.String(&h.Name)
	f.String(&h.Value)
}

// Flags packs up to 63 booleans into one number, the first in its lowest bit.
//
//go:noinline
func (f *Fields) Flags(flags ...*bool) {
	if f.r == nil {
		var v uint64
		for i, flag := range flags {
			if *flag {
				v |= 1 << i
			}
		}
		f.w.Uint(v)
		return
	}
	v := f.r.Uint()
	if v>>len(flags) != 0 {
		f.r.fail()
	}
	for i, flag := range flags {
		*flag = v>>i&1 == 1
	}
}

// Enum writes or reads a number of a named type. Values above 255 are malformed.
func Enum[T ~uint8 | ~uint64](f *Fields, p *T) {
	if f.r != nil {
		*p = T(f.r.Byte())
	} else {
		f.w.Uint(uint64(*p))
	}
}

// List writes or reads the length of a list, followed by its elements.
func List[T any](f *Fields, list *[]T, element func(*Fields, *T)) {
	if f.r == nil {
		f.w.Uint(uint64(len(*list)))
		for i := range *list {
			element(f, &(*list)[i])
		}
		return
	}
	n := f.r.Count()
	*list = nil
	if n > 0 {
		*list = make([]T, n)
	}
	for i := range *list {
		element(f, &(*list)[i])
	}
}
