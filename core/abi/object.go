package abi

// Row is one stored value of an object. Keys are printable ASCII, at most 1,024 bytes, in byte order.
type Row struct {
	Key   string
	Value []byte
}

// Range selects the rows with Start <= key < End in order, at most Limit of them. With an empty End it selects
// the row with the key Start.
type Range struct {
	Start, End string
	Limit      uint64
}

// ObjectInput is the input of reads and apply: one command for one object.
type ObjectInput struct {
	NowMs   uint64
	Class   Class
	Name    string // the object's name
	Command []byte // empty: the alarm fired
	Round   uint64 // apply: 0, or 1 after it requested more rows
	Rows    []Row  // apply: the rows of the ranges, in the order of the ranges
}

// ObjectOutput is the output of reads and apply. Reads sets only Ranges. If apply sets Ranges, the host reads
// those too and calls apply once more with all rows. Otherwise it puts and deletes the rows and sets the alarm
// in one transaction, and replies only after the commit.
type ObjectOutput struct {
	Ranges  []Range
	Puts    []Row
	Deletes []string
	Reply   []byte
	AlarmMs uint64 // 0: none. The host sets it only if it is earlier than the current alarm
	Deliver bool   // outbox rows are pending: deliver them after the reply
	Posts   []Post // to send after the reply
}

// OutboxPrefix is the prefix of outbox row keys. The host delivers the rows in order: a KV delivery puts Data
// under Name (or deletes Name if Data is empty), any other is a call. It removes a row after its delivery. If
// the delivery fails, it retries by alarm after RedeliverMs.
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

// OutboxKey returns the key of the outbox row with a sequence number. Its fixed width keeps rows in order.
func OutboxKey(seq uint64) string { return OutboxPrefix + Fixed(seq) }

// Fixed formats a number below 2^48 as twelve hexadecimal digits, which sort like the numbers.
func Fixed(v uint64) string {
	var digits [12]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
	return string(digits[:])
}

// Unfixed is the inverse of Fixed.
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

// Encode returns the value of the outbox row.
func (d *Delivery) Encode() []byte {
	var w Writer
	w.Uint(uint64(d.Class))
	w.String(d.Name)
	w.String(d.Region)
	w.Bytes(d.Data)
	return w.Buf
}

// DecodeDelivery is the inverse of Encode.
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

// Encode appends the message that reads and apply take.
func (in *ObjectInput) Encode(w *Writer) {
	w.Uint(in.NowMs)
	w.Uint(uint64(in.Class))
	w.String(in.Name)
	w.Bytes(in.Command)
	w.Uint(in.Round)
	w.rows(in.Rows)
}

// DecodeObjectInput is the inverse of Encode. The result shares memory with data.
func DecodeObjectInput(data []byte) (ObjectInput, error) {
	r := Reader{Buf: data}
	in := ObjectInput{r.Uint(), Class(r.Byte()), r.String(), r.Bytes(), r.Uint(), r.rows()}
	return in, r.End()
}

// Encode appends the message that reads and apply return.
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

// DecodeObjectOutput is the inverse of Encode. The result shares memory with data.
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

// Config is the input of configure.
type Config struct {
	Catalog []byte   // core/catalog: compiled, or as JSON
	Env     []Header // all variables and secrets of the deployment
}

// Configured is the output of configure. If Error is set, the host answers every request with the last-resort response.
type Configured struct {
	Version         uint64
	Error           string   // the configuration error; never contains a secret
	RequestHeaders  []string // headers to pass in EventRequest
	ResponseHeaders []string // headers to pass in EventResponse
	// The host's memory is an LRU cache of at most MemoryBytes. An entry counts as its key, its value and
	// MemoryOverheadBytes. Entries larger than MemoryEntryBytes are not stored.
	MemoryBytes         uint64
	MemoryEntryBytes    uint64
	MemoryOverheadBytes uint64
	PinnedEntries       uint64 // number of entries in the isolate's pinned memory; see ActionPin
	KVCacheSeconds      uint64 // maximum age of a cached KV value for ActionRead
	// The last-resort response, for when a step cannot run or Error is set: status, headers, and a body in two
	// halves around the request ID.
	LastResortStatus  uint64
	LastResortHeaders []Header
	LastResortBody    [2][]byte
}

// Encode appends the message that configure takes.
func (c *Config) Encode(w *Writer) {
	w.Bytes(c.Catalog)
	w.headers(c.Env)
}

// DecodeConfig is the inverse of Encode. The result shares memory with data.
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
	f.Uint(&c.PinnedEntries)
	f.Uint(&c.KVCacheSeconds)
	f.Uint(&c.LastResortStatus)
	List(f, &c.LastResortHeaders, (*Fields).Header)
	f.Bytes(&c.LastResortBody[0])
	f.Bytes(&c.LastResortBody[1])
}

// Encode appends the message that configure returns.
func (c *Configured) Encode(w *Writer) { c.fields(WriteTo(w)) }

// DecodeConfigured is the inverse of Encode.
func DecodeConfigured(data []byte) (Configured, error) {
	r := Reader{Buf: data}
	var c Configured
	c.fields(ReadFrom(&r))
	return c, r.End()
}
