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
	if err := c.readTogetherFrom(); err != nil {
		return err
	}
	for i := range s.Hours {
		if err := c.replaceHour(s.Project, &s.Hours[i]); err != nil {
			return err
		}
	}
	for i := range s.Days {
		if err := c.addDay(s.Project, &s.Days[i]); err != nil {
			return err
		}
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
	var before SummaryHour
	if at < len(d.hours) && d.hours[at].Hour == h.Hour {
		before = d.hours[at]
	} else {
		d.hours = append(d.hours, SummaryHour{})
		copy(d.hours[at+1:], d.hours[at:])
	}
	d.hours[at] = *h
	c.put(key, d.encode())
	if err := c.replaceTogether(hourTogether(h.Hour), project, &before, h); err != nil {
		return err
	}
	return c.replaceDay(project, h.Hour/24, d.hours)
}

// replaceDay replaces the sum of a day's hours.
func (c *call) replaceDay(project string, day uint64, hours []SummaryHour) error {
	var sum span
	for i := range hours {
		sum.plus(&span{models: hours[i].Models, keys: hours[i].Keys})
	}
	total := dayHours{[]SummaryHour{{day * 24, topOf(sum.models), topOf(sum.keys)}}}
	key, before := sumKey(rowSumDays, day, project), dayHours{}
	if row, ok := c.row(key); ok {
		if err := abi.DecodeFields(row, before.fields); err != nil {
			return err
		}
	}
	c.put(key, total.encode())
	return c.replaceTogether(dayTogether(day), project, before.first(), &total.hours[0])
}

// first returns the only element of a row "sd/", or an empty one.
func (d *dayHours) first() *SummaryHour {
	if len(d.hours) == 0 {
		return &SummaryHour{}
	}
	return &d.hours[0]
}

// OverviewQuery is the command that requests the activity in the hours First to End (exclusive). Daily reads full days,
// in which case First and End must be the first hours of days.
//
// Without projects, the reply has the activity of all of them together. It may be one of several pages; set After to
// Next of the previous page. With projects, it has the activity of the projects with IDs after FromID up to ToID.
type OverviewQuery struct {
	First, End   uint64
	Daily        bool
	After        string
	FromID, ToID string // ToID is empty: without projects
}

// OverviewReply is the reply to OverviewQuery. Any of its groups may continue on the next page.
type OverviewReply struct {
	Projects []ProjectActivity
	Steps    []Step
	Models   []Named
	Keys     []Named // by project ID, a slash, and key ID. Without a key ID, the keys of the project that are not listed separately
	Next     string  // empty on the last page
}

// MaxOverviewDays is the number of rows of projects, one for each project and day, that a query with projects may read.
const MaxOverviewDays = 9_200

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

// maxSummaries and maxDays are the numbers of hourly and daily rows that one page reads. An hourly row can have 50
// KB.
const (
	maxSummaries = 256
	maxDays      = 1536

	// maxOverviewKeys is the number of keys that one page lists separately.
	maxOverviewKeys = maxSummaries * summaryNames
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

func (q *OverviewQuery) reads() (ranges []abi.Range) {
	if q.ToID == "" {
		return []abi.Range{{Start: rowAllFrom}, q.togetherRows()}
	}
	for day := q.First / 24; day < (q.End+23)/24 && len(ranges) < KeepDays; day++ {
		ranges = append(ranges, abi.Range{
			Start: sumKey(q.prefix(), day, q.FromID) + "\x00", End: sumKey(q.prefix(), day, q.ToID) + "\x00", Limit: MaxOverviewDays,
		})
	}
	return ranges
}

func (q *OverviewQuery) apply(c *call) error {
	var reply OverviewReply
	sums, err := q.coveredBySums(c)
	switch {
	case err != nil:
		return err
	case sums:
		err = q.together(c, &reply)
	case q.ToID == "" && c.in.Round == 0:
		first, end := q.prefix()+abi.Fixed(q.First/24), q.prefix()+abi.Fixed((q.End+23)/24)
		c.out.Ranges = []abi.Range{{Start: max(first, q.After+"\x00"), End: end, Limit: uint64(q.limit())}}
		return nil
	default:
		err = q.eachHour(c, &reply)
	}
	c.out.Reply = abi.EncodeFields(0, 256*len(reply.Projects)+64*len(reply.Keys), reply.fields)
	return err
}

// coveredBySums reports whether the query can be answered from the sums of all projects. Otherwise, the rows of the
// projects are read, in a second round.
func (q *OverviewQuery) coveredBySums(c *call) (bool, error) {
	row, ok := c.row(rowAllFrom)
	if !ok || q.ToID != "" {
		return false, nil
	}
	r := abi.Reader{Buf: row}
	return r.Uint() <= q.First, r.End()
}

// eachHour adds the hours of projects that were read.
func (q *OverviewQuery) eachHour(c *call, reply *OverviewReply) error {
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
			switch h := &d.hours[i]; {
			case h.Hour < q.First || h.Hour >= q.End:
			case q.ToID != "":
				reply.addProject(project, h)
			default:
				nameKeys(project, h.Keys)
				reply.add(h)
			}
		}
	}
	if q.ToID != "" || count < q.limit() {
		reply.Next = ""
	}
	return nil
}

// nameKeys puts the project and a slash before the names of its keys.
func nameKeys(project string, keys []Named) {
	for i := range keys {
		keys[i].Name = project + "/" + keys[i].Name
	}
}

// add adds an hour or a day to the sums of all projects. The names of its keys begin with their projects.
func (p *OverviewReply) add(h *SummaryHour) {
	total := totalOf(h.Models)
	at := 0
	for at < len(p.Steps) && p.Steps[at].Hour != h.Hour {
		at++
	}
	if at == len(p.Steps) {
		p.Steps = append(p.Steps, Step{Hour: h.Hour})
	}
	p.Steps[at].Usage.Plus(&total.Usage)
	for i := range h.Models {
		activityOf(&p.Models, h.Models[i].Name, maxModels).Plus(&h.Models[i].Activity)
	}
	for i := range h.Keys {
		activityOf(&p.Keys, h.Keys[i].Name, maxOverviewKeys).Plus(&h.Keys[i].Activity)
	}
}

// addProject adds an hour or a day to the activity of its project.
func (p *OverviewReply) addProject(project string, h *SummaryHour) {
	at := 0
	for at < len(p.Projects) && p.Projects[at].Name != project {
		at++
	}
	if at == len(p.Projects) {
		p.Projects = append(p.Projects, ProjectActivity{Named: Named{Name: project}})
	}
	total := totalOf(h.Models)
	p.Projects[at].Plus(&total)
	p.Projects[at].Steps = append(p.Projects[at].Steps, Step{h.Hour, Usage{Requests: total.Usage.Outcomes().Requests, CostPico: total.Usage.CostPico}})
}

// Encode encodes the command.
func (q *OverviewQuery) Encode() []byte { return abi.EncodeFields(opOverview, 64, q.fields) }

func (q *OverviewQuery) fields(f *abi.Fields) {
	f.Uint(&q.First)
	f.Uint(&q.End)
	f.Bool(&q.Daily)
	f.String(&q.After)
	f.String(&q.FromID)
	f.String(&q.ToID)
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
	abi.List(f, &p.Keys, NamedFields)
	f.String(&p.Next)
}
