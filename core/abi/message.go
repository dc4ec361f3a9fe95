package abi

// EncodeFields encodes the fields of a command, reply or row. size is its approximate length in bytes. A command
// starts with its op code. Replies and rows have none, so op is 0 for them.
func EncodeFields(op uint64, size int, fields func(*Fields)) []byte {
	// One allocation for both.
	e := &struct {
		w Writer
		f Fields
	}{w: Writer{Buf: make([]byte, 0, size)}}
	if op != 0 {
		e.w.Uint(op)
	}
	e.f.w = &e.w
	fields(&e.f)
	return e.w.Buf
}

// DecodeFields decodes the fields of a reply or row. It fails with ErrMalformed if the data is truncated, has
// trailing bytes, or is rejected by fields.
func DecodeFields(data []byte, fields func(*Fields)) error {
	d := &struct {
		r Reader
		f Fields
	}{r: Reader{Buf: data}}
	d.f.r = &d.r
	fields(&d.f)
	return d.r.End()
}

// Format is the format version that a row starts with. Any other version is malformed.
func (f *Fields) Format(version uint64) {
	stored := version
	if f.Uint(&stored); stored != version {
		f.Fail()
	}
}
