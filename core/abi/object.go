package abi

// Row is one stored value of an object. Keys are printable ASCII, at most 1,024 bytes, in byte order.
type Row struct {
	Key   string
	Value []byte
}

// Range names rows: those with Start <= key < End, at most Limit of them, in order; with an empty End the
// one row whose key is Start.
type Range struct {
	Start, End string
	Limit      uint64
}

// ObjectInput is what a host gives to reads and to apply: one command for one object.
type ObjectInput struct {
	NowMs   uint64
	Class   Class
	Name    string // the object's own
	Command []byte // empty: the alarm rang
	Round   uint64 // apply: 0, or 1 after it asked for more rows
	Rows    []Row  // apply: what was found in the ranges, in their order
}

// ObjectOutput is what reads and apply give back. Reads sets Ranges only. If apply sets Ranges, the host
// reads those too and calls apply again, once, with all rows; otherwise it puts and deletes rows and sets
// the alarm in one transaction, and only then replies.
type ObjectOutput struct {
	Ranges  []Range
	Puts    []Row
	Deletes []string
	Reply   []byte
	AlarmMs uint64 // 0: none. Set only if it is earlier than the alarm that stands
	Deliver bool   // outbox rows are waiting: deliver them now, after the reply
	Posts   []Post // to be sent after the reply
}

// OutboxPrefix starts the keys of outbox rows. The host delivers them in order: a KV delivery is a put of
// Data under Name (a delete if it is empty), any other a call. It removes the row when that succeeded, and
// otherwise tries again by alarm, after RedeliverMs.
const (
	OutboxPrefix = "o/"
	OutboxEnd    = "o0"
	RedeliverMs  = 2000
)

// Delivery is the value of an outbox row.
type Delivery struct {
	Class  Class
	Name   string
	Region string
	Data   []byte
}

// OutboxKey is the key of the outbox row with a number, in fixed width so that rows stay in order.
func OutboxKey(seq uint64) string { return OutboxPrefix + Fixed(seq) }

// Fixed writes a number below 2^48 as twelve hexadecimal digits, whose byte order is the number's.
func Fixed(v uint64) string {
	var digits [12]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
	return string(digits[:])
}

// Unfixed reads what Fixed wrote.
func Unfixed(text string) uint64 {
	var v uint64
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 'a' {
			c -= 'a' - '9' - 1
		}
		v = v<<4 | uint64(c-'0')
	}
	return v
}

// Encode is the outbox row's value.
func (d *Delivery) Encode() []byte {
	var w Writer
	w.Uint(uint64(d.Class))
	w.String(d.Name)
	w.String(d.Region)
	w.Bytes(d.Data)
	return w.Buf
}

// DecodeDelivery reads what Encode wrote.
func DecodeDelivery(data []byte) (Delivery, error) {
	r := Reader{Buf: data}
	d := Delivery{Class(r.Byte()), r.String(), r.String(), r.Bytes()}
	return d, r.End()
}

func (w *Writer) rows(rows []Row) {
	w.Uint(uint64(len(rows)))
	for _, row := range rows {
		w.String(row.Key)
		w.Bytes(row.Value)
	}
}

func (r *Reader) rows() []Row {
	n := r.Count()
	if n == 0 {
		return nil
	}
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{r.String(), r.Bytes()}
	}
	return rows
}

// Encode is the message that reads and apply take.
func (in *ObjectInput) Encode(w *Writer) {
	w.Uint(in.NowMs)
	w.Uint(uint64(in.Class))
	w.String(in.Name)
	w.Bytes(in.Command)
	w.Uint(in.Round)
	w.rows(in.Rows)
}

// DecodeObjectInput reads what Encode wrote. The result shares memory with data.
func DecodeObjectInput(data []byte) (ObjectInput, error) {
	r := Reader{Buf: data}
	in := ObjectInput{r.Uint(), Class(r.Byte()), r.String(), r.Bytes(), r.Uint(), r.rows()}
	return in, r.End()
}

// Encode is the message that reads and apply return.
func (out *ObjectOutput) Encode(w *Writer) {
	w.Uint(uint64(len(out.Ranges)))
	for _, g := range out.Ranges {
		w.String(g.Start)
		w.String(g.End)
		w.Uint(g.Limit)
	}
	w.rows(out.Puts)
	w.Uint(uint64(len(out.Deletes)))
	for _, key := range out.Deletes {
		w.String(key)
	}
	w.Bytes(out.Reply)
	w.Uint(out.AlarmMs)
	w.Bool(out.Deliver)
	w.posts(out.Posts)
}

// DecodeObjectOutput reads what Encode wrote. The result shares memory with data.
func DecodeObjectOutput(data []byte) (ObjectOutput, error) {
	r := Reader{Buf: data}
	var out ObjectOutput
	for n := r.Count(); n > 0; n-- {
		out.Ranges = append(out.Ranges, Range{r.String(), r.String(), r.Uint()})
	}
	out.Puts = r.rows()
	for n := r.Count(); n > 0; n-- {
		out.Deletes = append(out.Deletes, r.String())
	}
	out.Reply, out.AlarmMs, out.Deliver = r.Bytes(), r.Uint(), r.Bool()
	out.Posts = r.posts()
	return out, r.End()
}

// Config is what a host gives to configure.
type Config struct {
	Catalog []byte   // core/catalog/catalog.json
	Env     []Header // the deployment's variables and secrets, all of them
}

// Configured is what configure gives back, whatever it is given. With an Error the host serves nothing but that failure.
type Configured struct {
	Version         uint64
	Error           string   // what is wrong with the configuration; never holds a secret
	RequestHeaders  []string // what EventRequest carries
	ResponseHeaders []string // what EventResponse carries
	// The host's memory holds at most MemoryBytes; each entry counts as its key, its value and
	// MemoryOverheadBytes, and one over MemoryEntryBytes is not kept. Least recently used goes first.
	MemoryBytes         uint64
	MemoryEntryBytes    uint64
	MemoryOverheadBytes uint64
	KVCacheSeconds      uint64 // how old a copy of a KV row may be that answers ActionRead
	// LastResort is the answer when a step could not be run, or Error is set: the status, headers, and a
	// body in two halves between which the request id belongs.
	LastResortStatus  uint64
	LastResortHeaders []Header
	LastResortBody    [2][]byte
}

// Encode is the message that configure takes.
func (c *Config) Encode(w *Writer) {
	w.Bytes(c.Catalog)
	w.headers(c.Env)
}

// DecodeConfig reads what Encode wrote. The result shares memory with data.
func DecodeConfig(data []byte) (Config, error) {
	r := Reader{Buf: data}
	c := Config{r.Bytes(), r.headers()}
	return c, r.End()
}

func (c *Configured) fields(f *Fields) {
	f.Uint(&c.Version)
	f.String(&c.Error)
	List(f, &c.RequestHeaders, (*Fields).String)
	List(f, &c.ResponseHeaders, (*Fields).String)
	f.Uint(&c.MemoryBytes)
	f.Uint(&c.MemoryEntryBytes)
	f.Uint(&c.MemoryOverheadBytes)
	f.Uint(&c.KVCacheSeconds)
	f.Uint(&c.LastResortStatus)
	List(f, &c.LastResortHeaders, (*Fields).header)
	f.Bytes(&c.LastResortBody[0])
	f.Bytes(&c.LastResortBody[1])
}

// Encode is the message that configure returns.
func (c *Configured) Encode(w *Writer) { c.fields(WriteTo(w)) }

// DecodeConfigured reads what Encode wrote.
func DecodeConfigured(data []byte) (Configured, error) {
	r := Reader{Buf: data}
	var c Configured
	c.fields(ReadFrom(&r))
	return c, r.End()
}
