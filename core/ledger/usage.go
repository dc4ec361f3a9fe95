package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// Usage contains the counters of one day, hour and model.
type Usage struct {
	Day        uint64 // since 1970-01-01
	Hour       uint64 // hour of the day; 0 in sums over several hours
	Model      string
	Requests   uint64 // successful requests, including cache hits
	Hits       uint64 // cache hits
	Misses     uint64 // cache misses
	Failed     uint64 // admitted requests that failed
	Prompt     uint64 // tokens
	Completion uint64 // tokens
	CostPico   int64
	Estimated  uint64 // charges whose usage the provider did not report
	Expired    uint64 // requests that were never settled and were charged their reservation
	Latency    Latency
	// PromptCache and Attempts are not in UsageFields: see Extras.
	PromptCache PromptCache
	Attempts    Attempts
	// Mocked counts requests that the built-in provider served in test mode, without an attempt at a real provider.
	// Only ten-minute rows and their sums have this count.
	Mocked uint64
	// Path says where the usage of a key counts above its project. A batch has separate usage for each path. In usage
	// rows and in replies, Path is zero.
	Path Path
	// Ends counts requests that were not served. They have their own rows. The replies to Query, and to Report
	// without Ends, do not include them.
	Ends Endings
}

// Plus adds the counters of o.
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
	u.PromptCache.Plus(&o.PromptCache)
	u.Attempts.Plus(&o.Attempts)
	u.Mocked += o.Mocked
	u.Ends.Plus(&o.Ends)
}

// Tried returns how many of the served requests were sent to a provider. Cache hits and requests to the built-in
// provider do not count.
func (u *Usage) Tried() uint64 { return u.Requests - min(u.Requests, u.Hits+u.Mocked) }

// UsageFields lists the fields of usage, for messages and for the rows of meters.
func UsageFields(f *abi.Fields, u *Usage) {
	f.Uint(&u.Day)
	f.Uint(&u.Hour)
	u.countFields(f)
	u.Latency.fields(f)
}

// OldUsageFields lists the fields of usage from before hours and latencies.
func OldUsageFields(f *abi.Fields, u *Usage) {
	f.Uint(&u.Day)
	u.countFields(f)
}

func (u *Usage) countFields(f *abi.Fields) {
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

// sparseFields lists which counters are not zero, followed by those counters. Most rows have one or two.
func sparseFields(f *abi.Fields, counters []uint64) {
	var mask uint64
	for i, n := range counters {
		if n != 0 {
			mask |= 1 << i
		}
	}
	if f.Uint(&mask); mask>>len(counters) != 0 {
		f.Fail()
	}
	for i := range counters {
		if mask>>i&1 == 1 {
			f.Uint(&counters[i])
		}
	}
}

// usageRow is stored usage, with a format version.
type usageRow struct {
	Usage
	seq uint64 // in the row of a project in the Ledger of a node above it: the last Contribution
}

func (s *usageRow) fields(f *abi.Fields) {
	version := uint64(usageFormat)
	switch { // newer formats are written only if needed, because older objects do not know them
	case s.seq > 0:
		version = contributedFormat
	case s.Attempts.Used():
		version = attemptsFormat
	case s.PromptCache.Used():
		version = promptCacheFormat
	}
	f.Uint(&version)
	switch version {
	case usageFormat:
		UsageFields(f, &s.Usage)
	case promptCacheFormat:
		UsageFields(f, &s.Usage)
		s.PromptCache.Fields(f, true)
	case attemptsFormat, contributedFormat:
		UsageFields(f, &s.Usage)
		s.PromptCache.Fields(f, f.Group(s.PromptCache.Used()))
		if version == attemptsFormat || f.Group(s.Attempts.Used()) {
			s.Attempts.fields(f)
		}
		if version == contributedFormat {
			f.Uint(&s.seq)
		}
	case format:
		OldUsageFields(f, &s.Usage)
	default:
		f.Fail()
	}
}

func decodeUsageRow(data []byte) (Usage, error) {
	var s usageRow
	err := abi.DecodeFields(data, s.fields)
	return s.Usage, err
}

// Keys of usage rows: by day and model, by day, key and model, and by hour (older versions).
func modelKey(day uint64, model string) string { return rowModels + abi.Fixed(day) + "/" + model }

func detailKey(day uint64, keyID, model string) string {
	return rowDetails + abi.Fixed(day) + "/" + keyID + "/" + model
}

func hourKey(day, hour uint64) string { return rowHours + abi.Fixed(day*24+hour) }

// usageKeys returns the keys of the rows to which a key's usage is added.
func usageKeys(u *Usage, keyID string) [2]string {
	return [2]string{modelKey(u.Day, u.Model), detailKey(u.Day, keyID, u.Model)}
}

// addUsage adds usage of a batch to its rows.
func (c *call) addUsage(a *Absorb, u *Usage) error {
	for _, key := range usageKeys(u, a.KeyID) {
		if err := c.addToRow(key, u, 0); err != nil {
			return err
		}
	}
	of := a.activityIn(u)
	return c.addSpan(u.Day*24+u.Hour, u.Model, a.KeyID, &of)
}

// addToRow adds usage to a row of its day and model. seq is the number of the Contribution, or 0.
func (c *call) addToRow(key string, u *Usage, seq uint64) error {
	total := usageRow{Usage: Usage{Day: u.Day, Model: u.Model}}
	if row, ok := c.row(key); ok {
		if err := abi.DecodeFields(row, total.fields); err != nil {
			return err
		}
	}
	total.Plus(u)
	total.seq = max(total.seq, seq)
	c.put(key, abi.EncodeFields(0, 64, total.fields))
	return nil
}

// KeepDays and KeepHourDays are the retention of usage rows, in days.
const (
	KeepDays     = 400
	KeepHourDays = 9   // rows by hour; ten-minute rows are kept twice as long, for comparisons
	maxPrune     = 500 // maximum number of rows of each kind that one Prune deletes
)

// Grouping is the grouping of a Query.
type Grouping uint8

const (
	ByModel  Grouping = 1
	ByDay    Grouping = 2
	ByHour   Grouping = 3
	ByKey    Grouping = 4
	ByDetail Grouping = 5 // day, key and model
	// ByModelDay groups by day and model.
	ByModelDay Grouping = 6
)

// Query is the command that requests usage of the days FirstDay to EndDay (exclusive), in groups. Key (a key ID) and
// Model filter the usage. ByHour supports neither. The reply may be one of several pages; set After to Next of the
// previous page.
type Query struct {
	FirstDay, EndDay uint64
	By               Grouping
	Key, Model       string
	After            string
}

// QueryReply is the reply to Query. A group may continue on the next page. The caller adds up its usage.
type QueryReply struct {
	Groups []Group
	Next   string // cursor for Query.After; empty on the last page
}

// Group is one group of a QueryReply. Fields that are not part of the grouping are zero.
type Group struct {
	KeyID string
	Usage Usage
}

// maxScan is the number of rows that one page of a query reads.
const maxScan = 4096

// needsKeyRows reports whether a query needs the rows by key.
func (q *Query) needsKeyRows() bool { return q.By == ByKey || q.By == ByDetail || q.Key != "" }

// reads returns the rows of a query. For one key, these are the key's rows for each day. Otherwise they are one page
// of all rows of the days.
func (q *Query) reads() (ranges []abi.Range) {
	if q.By == ByHour {
		return append([]abi.Range{q.scan()}, spansOfDays(q.FirstDay, q.EndDay)...)
	}
	if q.Key == "" {
		return []abi.Range{q.scan()}
	}
	for day := q.FirstDay; day < q.EndDay && day < q.FirstDay+KeepDays; day++ {
		prefix := detailKey(day, q.Key, "")
		ranges = append(ranges, abi.Range{Start: prefix, End: prefix + "\x7f", Limit: maxModels})
	}
	return ranges
}

// maxModels limits the models per day in a query for one key.
const maxModels = 256

func (q *Query) scan() abi.Range {
	first, end := rowModels+abi.Fixed(q.FirstDay), rowModels+abi.Fixed(q.EndDay)
	switch {
	case q.By == ByHour:
		first, end = hourKey(q.FirstDay, 0), hourKey(q.EndDay, 0)
	case q.needsKeyRows():
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
		if strings.HasPrefix(row.Key, rowSpans) {
			if err := reply.addHour(row); err != nil {
				return err
			}
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
	c.out.Reply = abi.EncodeFields(0, 64+64*len(reply.Groups), reply.fields)
	return nil
}

// keyIDOf returns the key ID in the key of a usage row, or an empty string if the row is not by key.
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
	default: // each row is a separate group
		p.Groups = append(p.Groups, Group{key, *u})
		return
	}
	p.group(&g).Usage.Plus(u)
}

// group finds or adds a group. It searches from the end, because rows are sorted by day.
func (p *QueryReply) group(g *Group) *Group {
	for i := len(p.Groups) - 1; i >= 0; i-- {
		if o := &p.Groups[i]; o.Same(g) {
			return o
		}
	}
	p.Groups = append(p.Groups, *g)
	return &p.Groups[len(p.Groups)-1]
}

// Same reports whether two groups have the same key, model, day and hour.
func (g *Group) Same(o *Group) bool {
	return g.KeyID == o.KeyID && g.Usage.Model == o.Usage.Model && g.Usage.Day == o.Usage.Day && g.Usage.Hour == o.Usage.Hour
}

// usageByModel adds up, by model, the usage rows that were read, and sorts them by name.
func (c *call) usageByModel() ([]Usage, error) {
	var models []Usage
	for _, row := range c.in.Rows {
		if !strings.HasPrefix(row.Key, rowModels) {
			continue
		}
		u, err := decodeUsageRow(row.Value)
		if err != nil {
			return nil, err
		}
		models = mergeByModel(models, u)
	}
	return models, nil
}

func mergeByModel(models []Usage, u Usage) []Usage {
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

// spentInRows returns the total cost in the usage rows that were read.
func (c *call) spentInRows() (pico int64, err error) {
	models, err := c.usageByModel()
	for i := range models {
		pico = money.Add(pico, models[i].CostPico)
	}
	return pico, err
}
