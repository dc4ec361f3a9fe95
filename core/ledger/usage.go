package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// Usage is what was counted for one day, hour and model.
type Usage struct {
	Day        uint64
	Hour       uint64 // of the day; 0 in sums over more than one
	Model      string
	Requests   uint64 // answered, cache hits included
	Hits       uint64
	Misses     uint64
	Failed     uint64 // admitted, but not answered
	Prompt     uint64
	Completion uint64
	CostPico   int64
	Estimated  uint64 // requests whose usage the provider did not report
	Expired    uint64 // requests that nobody settled: the reserved amount was booked
	Latency    Latency
}

// Latency is how long requests took, from their arrival to the end of their answer.
type Latency struct {
	SumMs   uint64
	Buckets [len(LatencyBoundsMs) + 1]uint64 // requests up to each bound, and above the last
}

// LatencyBoundsMs are the upper bounds of the buckets, each about 1.8 times the one before: an answer's
// percentile is right to that factor at worst.
var LatencyBoundsMs = [...]uint64{5, 10, 18, 32, 56, 100, 180, 320, 560, 1000, 1800, 3200, 5600, 10_000, 18_000, 32_000, 56_000, 100_000}

// Add counts one request.
func (l *Latency) Add(ms uint64) {
	l.SumMs += ms
	at := 0
	for at < len(LatencyBoundsMs) && ms > LatencyBoundsMs[at] {
		at++
	}
	l.Buckets[at]++
}

// Count is how many requests there were.
func (l *Latency) Count() (n uint64) {
	for _, b := range l.Buckets {
		n += b
	}
	return n
}

// Percentile is the given percentile in milliseconds, as the upper bound of its bucket. Above the last bound it is twice
// that bound.
func (l *Latency) Percentile(percent uint64) uint64 {
	rank := (l.Count()*percent + 99) / 100
	for i, n := range l.Buckets {
		if rank <= n && i < len(LatencyBoundsMs) {
			return LatencyBoundsMs[i]
		}
		rank -= min(rank, n)
	}
	return 2 * LatencyBoundsMs[len(LatencyBoundsMs)-1]
}

func (l *Latency) plus(o *Latency) {
	l.SumMs += o.SumMs
	for i := range l.Buckets {
		l.Buckets[i] += o.Buckets[i]
	}
}

// Plus adds another one's counts.
func (u *Usage) Plus(o *Usage) {
	u.Requests += o.Requests
	u.Hits += o.Hits
	u.Misses += o.Misses
	u.Failed += o.Failed
	u.Prompt += o.Prompt
	u.Completion += o.Completion
	u.CostPico = money.Add(u.CostPico, o.CostPico)
	u.Estimated += o.Estimated
	u.Expired += o.Expired
	u.Latency.plus(&o.Latency)
}

// UsageFields lists usage. Meters keep unreported usage in this form.
func UsageFields(f *abi.Fields, u *Usage) {
	f.Uint(&u.Day)
	f.Uint(&u.Hour)
	u.counts(f)
	u.Latency.fields(f)
}

// OldUsageFields lists the form that meters and rows had before there were hours and latencies.
func OldUsageFields(f *abi.Fields, u *Usage) {
	f.Uint(&u.Day)
	u.counts(f)
}

func (u *Usage) counts(f *abi.Fields) {
	f.String(&u.Model)
	f.Uint(&u.Requests)
	f.Uint(&u.Hits)
	f.Uint(&u.Misses)
	f.Uint(&u.Failed)
	f.Uint(&u.Prompt)
	f.Uint(&u.Completion)
	f.Int(&u.CostPico)
	f.Uint(&u.Estimated)
	f.Uint(&u.Expired)
}

// fields lists only the buckets that have something: most rows have one or two.
func (l *Latency) fields(f *abi.Fields) {
	f.Uint(&l.SumMs)
	var mask uint64
	for i, n := range l.Buckets {
		if n != 0 {
			mask |= 1 << i
		}
	}
	f.Uint(&mask)
	for i := range l.Buckets {
		if mask>>i&1 == 1 {
			f.Uint(&l.Buckets[i])
		}
	}
}

// sum is a stored one: usage with a format.
type sum struct{ Usage }

func (s *sum) fields(f *abi.Fields) {
	version := uint64(usageFormat)
	f.Uint(&version)
	switch version {
	case usageFormat:
		UsageFields(f, &s.Usage)
	case format:
		OldUsageFields(f, &s.Usage)
	default:
		f.Fail()
	}
}

// decodeUsageRow reads a stored sum.
func decodeUsageRow(data []byte) (Usage, error) {
	var s sum
	err := decode(data, &s)
	return s.Usage, err
}

// Keys of rows that sum usage up: by day and model, by day, key and model, and by hour.
func modelKey(day uint64, model string) string { return rowModels + abi.Fixed(day) + "/" + model }

func detailKey(day uint64, keyID, model string) string {
	return rowDetails + abi.Fixed(day) + "/" + keyID + "/" + model
}

func hourKey(day, hour uint64) string { return rowHours + abi.Fixed(day*24+hour) }

// sumKeys are the rows that usage of a key goes into.
func sumKeys(u *Usage, keyID string) [3]string {
	return [3]string{modelKey(u.Day, u.Model), detailKey(u.Day, keyID, u.Model), hourKey(u.Day, u.Hour)}
}

// add sums usage up in its rows.
func (c *call) add(u *Usage, keyID string) error {
	keys := sumKeys(u, keyID)
	for i, key := range keys {
		total := sum{Usage{Day: u.Day, Model: u.Model}}
		if i == 2 {
			total = sum{Usage{Day: u.Day, Hour: u.Hour}}
		}
		if row, ok := c.row(key); ok {
			var err error
			if total.Usage, err = decodeUsageRow(row); err != nil {
				return err
			}
		}
		total.Plus(u)
		c.put(key, encode(0, &total, 64))
	}
	return nil
}

// How long sums are kept.
const (
	KeepDays     = 400
	KeepHourDays = 9 // rows by hour
	maxPrune     = 500
)

// Grouping is what the rows of a Query stand for.
type Grouping uint8

const (
	ByModel  Grouping = 1
	ByDay    Grouping = 2
	ByHour   Grouping = 3
	ByKey    Grouping = 4
	ByDetail Grouping = 5 // day, key and model
)

// Query asks for sums of days FirstDay to EndDay (exclusive). Key and Model, if given, leave others out
// (not by hour). A query's answer may be one part of several: After is what the one before said.
type Query struct {
	FirstDay, EndDay uint64
	By               Grouping
	Key, Model       string
	After            string
}

// QueryReply answers Query. Groups may come again in the next part: their sums add up.
type QueryReply struct {
	Groups []Group
	Next   string // for After; empty: that was all
}

// Group is one row of a Query's answer. What it is not grouped by is zero.
type Group struct {
	KeyID string
	Usage Usage
}

// maxScan is how many rows one part of a query reads.
const maxScan = 4096

// byKey says whether only the rows with keys can tell.
func (q *Query) byKey() bool { return q.By == ByKey || q.By == ByDetail || q.Key != "" }

// reads are the rows of a query: for one key some of every day, else all of the days, a part at a time.
func (q *Query) reads() (ranges []abi.Range) {
	if q.Key == "" || q.By == ByHour {
		return []abi.Range{q.scan()}
	}
	for day := q.FirstDay; day < q.EndDay && day < q.FirstDay+KeepDays; day++ {
		prefix := detailKey(day, q.Key, "")
		ranges = append(ranges, abi.Range{Start: prefix, End: prefix + "\x7f", Limit: maxModels})
	}
	return ranges
}

// maxModels is how many models one key may use in a day, as far as its own figures go.
const maxModels = 256

func (q *Query) scan() abi.Range {
	first, end := rowModels+abi.Fixed(q.FirstDay), rowModels+abi.Fixed(q.EndDay)
	switch {
	case q.By == ByHour:
		first, end = hourKey(q.FirstDay, 0), hourKey(q.EndDay, 0)
	case q.byKey():
		first, end = rowDetails+abi.Fixed(q.FirstDay), rowDetails+abi.Fixed(q.EndDay)
	}
	return abi.Range{Start: max(first, q.After+"\x00"), End: end, Limit: maxScan}
}

// query groups the rows that were read.
func (c *call) query(q *Query) error {
	var reply QueryReply
	rows := c.in.Rows
	count := 0
	for _, row := range rows {
		if row.Key == rowBudget {
			continue
		}
		count++
		reply.Next = row.Key
		u, err := decodeUsageRow(row.Value)
		if err != nil {
			return err
		}
		key := keyIDOf(row.Key)
		if q.Key != "" && key != q.Key || q.Model != "" && u.Model != q.Model {
			continue
		}
		reply.add(q.By, key, &u)
	}
	if count < maxScan || q.Key != "" {
		reply.Next = ""
	}
	c.out.Reply = encode(0, &reply, 64+64*len(reply.Groups))
	return nil
}

// keyIDOf is the key's id in the name of a row by key, or empty.
func keyIDOf(row string) string {
	name, ok := strings.CutPrefix(row, rowDetails)
	if !ok {
		return ""
	}
	_, name, _ = strings.Cut(name, "/")
	keyID, _, _ := strings.Cut(name, "/")
	return keyID
}

func (p *QueryReply) add(by Grouping, key string, u *Usage) {
	var g Group
	switch by {
	case ByModel:
		g.Usage.Model = u.Model
	case ByDay:
		g.Usage.Day = u.Day
	case ByHour:
		g.Usage.Day, g.Usage.Hour = u.Day, u.Hour
	case ByKey:
		g.KeyID = key
	default: // each row is a group of its own
		p.Groups = append(p.Groups, Group{key, *u})
		return
	}
	p.group(&g).Usage.Plus(u)
}

// group finds the same group, from the end: rows come in order of their days.
func (p *QueryReply) group(g *Group) *Group {
	for i := len(p.Groups) - 1; i >= 0; i-- {
		if o := &p.Groups[i]; o.Same(g) {
			return o
		}
	}
	p.Groups = append(p.Groups, *g)
	return &p.Groups[len(p.Groups)-1]
}

// Same says whether two groups stand for the same.
func (g *Group) Same(o *Group) bool {
	return g.KeyID == o.KeyID && g.Usage.Model == o.Usage.Model && g.Usage.Day == o.Usage.Day && g.Usage.Hour == o.Usage.Hour
}

// Prune removes the sums of days before FirstDay, and those by hour of days before FirstHourDay, some at a
// time: the reply is how many were removed.
type Prune struct{ FirstDay, FirstHourDay uint64 }

func (p *Prune) reads() []abi.Range {
	return []abi.Range{
		{Start: rowModels, End: rowModels + abi.Fixed(p.FirstDay), Limit: maxPrune},
		{Start: rowDetails, End: rowDetails + abi.Fixed(p.FirstDay), Limit: maxPrune},
		{Start: rowHours, End: hourKey(p.FirstHourDay, 0), Limit: maxPrune},
	}
}

func (c *call) prune() {
	for _, row := range c.in.Rows {
		if row.Key != rowBudget {
			c.out.Deletes = append(c.out.Deletes, row.Key)
		}
	}
	var w abi.Writer
	w.Uint(uint64(len(c.out.Deletes)))
	c.out.Reply = w.Buf
}

// models sums the usage rows that were read by model, in order of the name.
func (c *call) models() ([]Usage, error) {
	var models []Usage
	for _, row := range c.in.Rows {
		if !strings.HasPrefix(row.Key, rowModels) {
			continue
		}
		u, err := decodeUsageRow(row.Value)
		if err != nil {
			return nil, err
		}
		models = insert(models, u)
	}
	return models, nil
}

func insert(models []Usage, u Usage) []Usage {
	at := 0
	for at < len(models) && models[at].Model < u.Model {
		at++
	}
	if at < len(models) && models[at].Model == u.Model {
		models[at].Plus(&u)
		return models
	}
	u.Day = 0
	models = append(models, Usage{})
	copy(models[at+1:], models[at:])
	models[at] = u
	return models
}

// spent is what the usage rows that were read say was spent.
func (c *call) spent() (pico int64, err error) {
	models, err := c.models()
	for i := range models {
		pico = money.Add(pico, models[i].CostPico)
	}
	return pico, err
}
