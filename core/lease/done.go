package lease

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// done contains ended requests. They stay encoded until they are reported, because every request of the key reads and
// writes the entry twice. For the same reason, an added request does not move the others.
type done struct {
	count uint64
	bytes int          // of all requests
	list  []byte       // the requests that the decoded entry had
	last  *doneRequest // added since; nil: none
}

type doneRequest struct {
	encoded []byte
	before  *doneRequest
}

// doneRoom is enough for most ended requests in bytes.
const doneRoom = 256

func (d *done) add(l *keymeter.Leased) {
	w := abi.Writer{Buf: make([]byte, 0, doneRoom)}
	keymeter.LeasedFields(abi.WriteTo(&w), l)
	d.count, d.bytes, d.last = d.count+1, d.bytes+len(w.Buf), &doneRequest{w.Buf, d.last}
}

func (d *done) fields(f *abi.Fields) {
	f.Uint(&d.count)
	list := d.list
	if !f.Reading() {
		list = d.joined()
	}
	f.Bytes(&list)
	if f.Reading() {
		d.list, d.bytes, d.last = list, len(list), nil
	}
}

// joined returns all requests, the oldest first.
func (d *done) joined() []byte {
	if d.last == nil {
		return d.list
	}
	all := make([]byte, d.bytes)
	at := len(all)
	for e := d.last; e != nil; e = e.before {
		at -= len(e.encoded)
		copy(all[at:], e.encoded)
	}
	copy(all, d.list)
	return all
}

func (d *done) appendTo(list []keymeter.Leased) []keymeter.Leased {
	list = slices.Grow(list, int(d.count))
	f := abi.ReadFrom(&abi.Reader{Buf: d.joined()})
	for range d.count {
		var l keymeter.Leased
		keymeter.LeasedFields(f, &l)
		list = append(list, l)
	}
	return list
}

// openFields lists the fields of a request in progress.
func openFields(f *abi.Fields, l **keymeter.Leased) {
	if f.Reading() {
		*l = &keymeter.Leased{}
	}
	keymeter.LeasedFields(f, *l)
}

func appendOpen(list []keymeter.Leased, open []*keymeter.Leased) []keymeter.Leased {
	for _, l := range open {
		list = append(list, *l)
	}
	return list
}
