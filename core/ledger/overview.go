package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// Rows of the deployment's Ledger with the summaries of projects:
//
//	sp/<project>         the last summary, without its hours
//	sh/<day>/<project>   the hours of a day
//	sd/<day>/<project>   their sum
//
// Most summaries change one row of each kind.

// dayHours is a row "sh/" or "sd/". A row "sd/" has a single element.
type dayHours struct{ hours []SummaryHour }

func (d *dayHours) fields(f *abi.Fields) {
	f.Format(format)
	abi.List(f, &d.hours, summaryHourFields)
}

func (d *dayHours) encode() []byte { return abi.EncodeFields(0, 1024, d.fields) }

func sumKey(prefix string, day uint64, project string) string {
	return prefix + abi.Fixed(day) + "/" + project
}

// status is a row "sp/".
type status struct{ Summary }

func (s *status) fields(f *abi.Fields) {
	f.Format(format)
	s.statusFields(f)
}

func (s *Summary) reads() []abi.Range {
	ranges := []abi.Range{{Start: rowStatus + s.Project}}
	for i := range s.Hours {
		r := abi.Range{Start: sumKey(rowSumHours, s.Hours[i].Hour/24, s.Project)}
		if ranges[len(ranges)-1] != r {
			ranges = append(ranges, r)
		}
	}
	for i := range s.Days {
		ranges = append(ranges, abi.Range{Start: sumKey(rowSumDays, s.Days[i].Hour/24, s.Project)})
	}
	return ranges
}

// apply replaces the activity of the summary's hours. It ignores a summary that is repeated, or older than the last
// one.
func (s *Summary) apply(c *call) error {
	var last status
	if row, ok := c.row(rowStatus + s.Project); ok {
		if err := abi.DecodeFields(row, last.fields); err != nil {
			return err
		}
	}
	if s.Project == "" || s.Seq <= last.Seq {
		return nil
	}
	for i := range s.Hours {
		if err := c.replaceHour(s.Project, &s.Hours[i]); err != nil {
			return err
		}
	}
	for i := range s.Days {
		c.addDay(s.Project, &s.Days[i])
	}
	last.Summary = *s
	c.put(rowStatus+s.Project, abi.EncodeFields(0, 128, last.fields))
	return nil
}

func (c *call) replaceHour(project string, h *SummaryHour) error {
	var d dayHours
	key := sumKey(rowSumHours, h.Hour/24, project)
	if row, ok := c.row(key); ok {
		if err := abi.DecodeFields(row, d.fields); err != nil {
			return err
		}
	}
	at := len(d.hours)
	for at > 0 && d.hours[at-1].Hour >= h.Hour {
		at--
	}
	if at < len(d.hours) && d.hours[at].Hour == h.Hour {
		d.hours[at] = *h
	} else {
		d.hours = append(d.hours, SummaryHour{})
		copy(d.hours[at+1:], d.hours[at:])
		d.hours[at] = *h
	}
	c.put(key, d.encode())
	var day span
	for i := range d.hours {
		day.plus(&span{models: d.hours[i].Models, keys: d.hours[i].Keys})
	}
	total := dayHours{[]SummaryHour{{h.Hour / 24 * 24, topOf(day.models), topOf(day.keys)}}}
	c.put(sumKey(rowSumDays, h.Hour/24, project), total.encode())
	return nil
}

// OverviewQuery is the command that requests the activity of all projects in the hours First to End (exclusive).
// Daily reads full days, in which case First and End must be the first hours of days. The reply may be one of several
// pages; set After to Next of the previous page.
type OverviewQuery struct {
	First, End uint64
	Daily      bool
	After      string
}

// OverviewReply is the reply to OverviewQuery. Any of its groups may continue on the next page.
type OverviewReply struct {
	Projects []ProjectActivity
	Steps    []Step
	Models   []Named
	Keys     []KeyActivity
	Next     string // empty on the last page
}

// ProjectActivity is the activity of a project.
type ProjectActivity struct {
	Named        // by project ID
	Steps []Step // only requests, served or not, and their costs
}

// Step is the usage of an hour or a day.
type Step struct {
	Hour  uint64 // the first hour
	Usage Usage
}

// KeyActivity is the usage of a key. An empty name stands for all keys of the project that are not listed separately.
type KeyActivity struct {
	Project string
	Named
}

// maxSummaries and maxDays are the numbers of hourly and daily rows that one page reads. An hourly row can have 50
// KB.
const (
	maxSummaries = 256
	maxDays      = 1536
)

func (q *OverviewQuery) limit() int {
	if q.Daily {
		return maxDays
	}
	return maxSummaries
}

func (q *OverviewQuery) prefix() string {
	if q.Daily {
		return rowSumDays
	}
	return rowSumHours
}

func (q *OverviewQuery) reads() []abi.Range {
	first, end := q.prefix()+abi.Fixed(q.First/24), q.prefix()+abi.Fixed((q.End+23)/24)
	return []abi.Range{{Start: max(first, q.After+"\x00"), End: end, Limit: uint64(q.limit())}}
}

func (q *OverviewQuery) apply(c *call) error {
	var reply OverviewReply
	var at places
	count := 0
	for _, row := range c.in.Rows {
		name, ok := strings.CutPrefix(row.Key, q.prefix())
		if !ok {
			continue
		}
		var d dayHours
		if err := abi.DecodeFields(row.Value, d.fields); err != nil {
			return err
		}
		count++
		reply.Next = row.Key
		_, project, _ := strings.Cut(name, "/")
		for i := range d.hours {
			if h := &d.hours[i]; h.Hour >= q.First && h.Hour < q.End {
				reply.add(&at, project, h)
			}
		}
	}
	if count < q.limit() {
		reply.Next = ""
	}
	c.out.Reply = abi.EncodeFields(0, 256*len(reply.Projects)+64*len(reply.Keys), reply.fields)
	return nil
}

// places remembers where the last group of each kind was found, because the rows of all days are in the same order.
type places struct{ project, step, key int }

func (p *OverviewReply) add(at *places, project string, h *SummaryHour) {
	of := ProjectActivity{Named: Named{Name: project}}
	group := find(&p.Projects, &at.project, of, func(g *ProjectActivity) bool { return g.Name == project })
	total := totalOf(h.Models)
	group.Plus(&total)
	group.Steps = append(group.Steps, Step{h.Hour, Usage{Requests: total.Usage.Outcomes().Requests, CostPico: total.Usage.CostPico}})
	find(&p.Steps, &at.step, Step{Hour: h.Hour}, func(g *Step) bool { return g.Hour == h.Hour }).Usage.Plus(&total.Usage)
	for i := range h.Models {
		activityOf(&p.Models, h.Models[i].Name, maxModels).Plus(&h.Models[i].Activity)
	}
	for i := range h.Keys {
		k := &h.Keys[i]
		key := find(&p.Keys, &at.key, KeyActivity{project, Named{Name: k.Name}}, func(g *KeyActivity) bool { return g.Name == k.Name && g.Project == project })
		key.Plus(&k.Activity)
	}
}

// find finds an element of a list, starting where the last one was found, or appends it.
func find[T any](list *[]T, at *int, otherwise T, is func(*T) bool) *T {
	for i := range *list {
		place := *at + i
		if place >= len(*list) {
			place -= len(*list)
		}
		if is(&(*list)[place]) {
			*at = place
			return &(*list)[place]
		}
	}
	*at = len(*list)
	*list = append(*list, otherwise)
	return &(*list)[*at]
}

// Encode encodes the command.
func (q *OverviewQuery) Encode() []byte { return abi.EncodeFields(opOverview, 64, q.fields) }

func (q *OverviewQuery) fields(f *abi.Fields) {
	f.Uint(&q.First)
	f.Uint(&q.End)
	f.Bool(&q.Daily)
	f.String(&q.After)
}

// DecodeOverviewReply decodes the reply to OverviewQuery.
func DecodeOverviewReply(data []byte) (p OverviewReply, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

func (p *OverviewReply) fields(f *abi.Fields) {
	abi.List(f, &p.Projects, func(f *abi.Fields, g *ProjectActivity) {
		NamedFields(f, &g.Named)
		abi.List(f, &g.Steps, func(f *abi.Fields, s *Step) {
			f.Uint(&s.Hour)
			f.Uint(&s.Usage.Requests)
			f.Int(&s.Usage.CostPico)
		})
	})
	abi.List(f, &p.Steps, func(f *abi.Fields, s *Step) {
		f.Uint(&s.Hour)
		countsFields(f, &s.Usage)
	})
	abi.List(f, &p.Models, NamedFields)
	abi.List(f, &p.Keys, func(f *abi.Fields, k *KeyActivity) {
		f.String(&k.Project)
		NamedFields(f, &k.Named)
	})
	f.String(&p.Next)
}

// StatusQuery is the command that requests the last summaries of projects, without their hours, sorted by project ID.
// After is the last project of the previous page.
type StatusQuery struct{ After string }

// MaxStatuses is the number of summaries in one page.
const MaxStatuses = 1000

func (q *StatusQuery) reads() []abi.Range {
	return []abi.Range{{Start: rowStatus + q.After + "\x00", End: rowStatus + "\x7f", Limit: MaxStatuses}}
}

func (q *StatusQuery) apply(c *call) error {
	var reply statuses
	for _, row := range c.in.Rows {
		if !strings.HasPrefix(row.Key, rowStatus) {
			continue
		}
		var s status
		if err := abi.DecodeFields(row.Value, s.fields); err != nil {
			return err
		}
		reply.list = append(reply.list, s.Summary)
	}
	c.out.Reply = abi.EncodeFields(0, 128*len(reply.list), reply.fields)
	return nil
}

// Encode encodes the command.
func (q *StatusQuery) Encode() []byte { return abi.EncodeFields(opStatuses, 32, q.fields) }

func (q *StatusQuery) fields(f *abi.Fields) { f.String(&q.After) }

type statuses struct{ list []Summary }

func (s *statuses) fields(f *abi.Fields) {
	abi.List(f, &s.list, func(f *abi.Fields, s *Summary) { s.statusFields(f) })
}

// DecodeStatuses decodes the reply to StatusQuery. If it has MaxStatuses summaries, there may be more.
func DecodeStatuses(data []byte) ([]Summary, error) {
	var s statuses
	err := abi.DecodeFields(data, s.fields)
	return s.list, err
}
