// Package move copies an object's rows unchanged from one deployment to another. Its two commands are the same for
// every class of object, so no class uses their op codes.
package move

import "github.com/postern-ai/postern/core/abi"

// The op codes are one byte long, like all op codes.
const (
	opDump = 0x7d
	opLoad = 0x7e
)

// Limits of one command, which keep an object's step small. Row keys are printable ASCII.
const (
	maxRows      = 500
	maxPageBytes = 256_000 // of one page, unless it has only one row
	firstKey     = " "
	endOfKeys    = "\x7f"
)

// Dump is the command that requests at most Limit rows whose keys are greater than After. It changes nothing. The
// reply is a Page.
type Dump struct {
	After string
	Limit uint64
}

// Page contains some of an object's rows, in the order of their keys. More reports whether there may be more rows
// after the last.
type Page struct {
	Rows []abi.Row
	More bool
}

// Load is the command that writes rows. It replaces rows with the same keys. If Remove is not 0, the object must be
// empty first. If it has rows, the command removes at most Remove of them and writes nothing. Loaded.Removed then
// asks the caller to repeat the command. If Last is set, the object resumes its scheduled work. The reply is a
// Loaded.
//
// The object's own checks do not apply to these rows. The caller must have checked the rows, and that the object is
// not in use.
type Load struct {
	Remove uint64
	Last   bool
	Rows   []abi.Row
}

// Loaded is the reply to Load.
type Loaded struct{ Removed bool }

// Encode encodes the command.
func (d *Dump) Encode() []byte { return abi.EncodeFields(opDump, 16+len(d.After), d.fields) }

func (d *Dump) fields(f *abi.Fields) {
	f.String(&d.After)
	f.Uint(&d.Limit)
}

// Encode encodes the command.
func (l *Load) Encode() []byte { return abi.EncodeFields(opLoad, 1024, l.fields) }

func (l *Load) fields(f *abi.Fields) {
	f.Uint(&l.Remove)
	f.Bool(&l.Last)
	abi.List(f, &l.Rows, rowFields)
}

func rowFields(f *abi.Fields, row *abi.Row) {
	f.String(&row.Key)
	f.Bytes(&row.Value)
}

func (p *Page) fields(f *abi.Fields) {
	abi.List(f, &p.Rows, rowFields)
	f.Bool(&p.More)
}

// DecodePage decodes the reply to Dump. The result shares memory with data.
func DecodePage(data []byte) (p Page, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

// DecodeLoaded decodes the reply to Load.
func DecodeLoaded(data []byte) (l Loaded, err error) {
	err = abi.DecodeFields(data, l.fields)
	return l, err
}

func (l *Loaded) fields(f *abi.Fields) { f.Bool(&l.Removed) }

// Is reports whether a command belongs to this package.
func Is(command []byte) bool {
	return len(command) > 0 && (command[0] == opDump || command[0] == opLoad)
}

// Reads returns the row ranges that a command needs.
func Reads(command []byte) ([]abi.Range, error) {
	g := abi.Range{Start: firstKey, End: endOfKeys, Limit: maxRows}
	if command[0] == opLoad {
		var l Load
		err := abi.DecodeFields(command[1:], l.fields)
		if g.Limit = min(g.Limit, l.Remove); g.Limit == 0 {
			return nil, err
		}
		return []abi.Range{g}, err
	}
	var d Dump
	err := abi.DecodeFields(command[1:], d.fields)
	if d.After != "" {
		g.Start = d.After + "\x00"
	}
	g.Limit = min(g.Limit, d.Limit)
	return []abi.Range{g}, err
}

// Apply runs a command on its rows.
func Apply(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	if in.Command[0] == opLoad {
		return load(in)
	}
	var d Dump
	err = abi.DecodeFields(in.Command[1:], d.fields)
	page := Page{Rows: in.Rows, More: uint64(len(in.Rows)) >= min(d.Limit, maxRows)}
	size := 0
	for i := range in.Rows {
		if size += len(in.Rows[i].Value); size > maxPageBytes && i > 0 {
			page.Rows, page.More = in.Rows[:i], true
			break
		}
	}
	out.Reply = abi.EncodeFields(0, 1024, page.fields)
	return out, err
}

func load(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	var l Load
	err = abi.DecodeFields(in.Command[1:], l.fields)
	removed := Loaded{len(in.Rows) > 0}
	out.Reply = abi.EncodeFields(0, 1, removed.fields)
	if removed.Removed {
		for i := range in.Rows {
			out.Deletes = append(out.Deletes, in.Rows[i].Key)
		}
		return out, err
	}
	if out.Puts = l.Rows; l.Last {
		out.AlarmMs = in.NowMs + 1
	}
	return out, err
}
