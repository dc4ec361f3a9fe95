package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// ActivityBy is the grouping of an ActivityQuery.
type ActivityBy uint8

// Groupings.
const (
	ActivityByStep   ActivityBy = 1
	ActivityByMinute ActivityBy = 2 // without durations
	ActivityByModel  ActivityBy = 3
	ActivityByKey    ActivityBy = 4
)

// ActivityQuery is the command that requests the activity of the spans from First to End (exclusive), in groups. A
// day that has been merged into a single row is included only if the range covers all of it. With ActivityByStep,
// either Key (a key ID) or Model filters the activity. The reply may be one of several pages; set After to Next of
// the previous page.
type ActivityQuery struct {
	First, End uint64
	By         ActivityBy
	Step       uint64 // ActivityByStep: spans per group
	Key, Model string
	After      string
}

// ActivityReply is the reply to ActivityQuery. A group may continue on the next page.
type ActivityReply struct {
	Groups []ActivityGroup
	Next   string // empty on the last page
}

// ActivityGroup is one group. Fields that are not part of the grouping are zero.
type ActivityGroup struct {
	Minute uint64 // start of the minute or step, in minutes since 1970-01-01
	Named
}

// maxSpans is the number of ten-minute rows that one page reads.
const maxSpans = 512

func (q *ActivityQuery) reads() []abi.Range {
	spans := abi.Range{Start: max(spanKey(q.First), q.After+"\x00"), End: spanKey(q.End), Limit: maxSpans}
	if first, end := (q.First+DaySpans-1)/DaySpans, q.End/DaySpans; q.After == "" && first < end {
		return []abi.Range{spans, {Start: spanDayKey(first), End: spanDayKey(end), Limit: KeepDays}}
	}
	return []abi.Range{spans}
}

func (q *ActivityQuery) apply(c *call) error {
	var reply ActivityReply
	count := 0
	for _, row := range c.in.Rows {
		number := uint64(0)
		if name, ok := strings.CutPrefix(row.Key, rowSpans); ok {
			number = abi.Unfixed(name)
			reply.Next = row.Key
			count++
		} else if name, ok = strings.CutPrefix(row.Key, rowSpanDays); ok {
			number = abi.Unfixed(name) * DaySpans
		} else {
			continue
		}
		s, err := decodeSpan(row.Value)
		if err != nil {
			return err
		}
		reply.add(q, number, &s)
	}
	if count < maxSpans {
		reply.Next = ""
	}
	c.out.Reply = abi.EncodeFields(0, 64+128*len(reply.Groups), reply.fields)
	return nil
}

// add adds the activity of a row to its groups.
func (p *ActivityReply) add(q *ActivityQuery, number uint64, s *span) {
	switch q.By {
	case ActivityByMinute:
		for i := range s.minutes {
			p.group(s.minutes[i].minute, "").Usage.Plus(&s.minutes[i].Usage)
		}
	case ActivityByModel:
		for i := range s.models {
			p.group(0, s.models[i].Name).Plus(&s.models[i].Activity)
		}
	case ActivityByKey:
		for i := range s.keys {
			p.group(0, s.keys[i].Name).Plus(&s.keys[i].Activity)
		}
	default:
		p.addStep(q, number, s)
	}
}

// addStep adds the requested part of a row's activity to the group of its step.
func (p *ActivityReply) addStep(q *ActivityQuery, number uint64, s *span) {
	list, name := s.models, q.Model
	if q.Key != "" {
		list, name = s.keys, q.Key
	}
	step := max(1, q.Step)
	for i := range list {
		if name == "" || name == list[i].Name {
			p.group(number/step*step*SpanMs/minuteMs, "").Plus(&list[i].Activity)
		}
	}
}

// group finds or adds a group. It searches from the end, because rows are sorted by time.
func (p *ActivityReply) group(minute uint64, name string) *Activity {
	for i := len(p.Groups) - 1; i >= 0; i-- {
		if g := &p.Groups[i]; g.Minute == minute && g.Name == name {
			return &g.Activity
		}
	}
	p.Groups = append(p.Groups, ActivityGroup{Minute: minute, Named: Named{Name: name}})
	return &p.Groups[len(p.Groups)-1].Activity
}

// Encode encodes the command.
func (q *ActivityQuery) Encode() []byte { return abi.EncodeFields(opActivity, 64, q.fields) }

func (q *ActivityQuery) fields(f *abi.Fields) {
	f.Uint(&q.First)
	f.Uint(&q.End)
	abi.Enum(f, &q.By)
	f.Uint(&q.Step)
	f.String(&q.Key)
	f.String(&q.Model)
	f.String(&q.After)
}

// DecodeActivityReply decodes the reply to ActivityQuery.
func DecodeActivityReply(data []byte) (p ActivityReply, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

func (p *ActivityReply) fields(f *abi.Fields) {
	abi.List(f, &p.Groups, func(f *abi.Fields, g *ActivityGroup) {
		f.Uint(&g.Minute)
		NamedFields(f, &g.Named)
	})
	f.String(&p.Next)
}

// spansOfDays returns the range of the ten-minute rows of the given days, for queries by hour. A query covers at most
// KeepHourDays days.
func spansOfDays(firstDay, endDay uint64) []abi.Range {
	return []abi.Range{{Start: spanKey(firstDay * DaySpans), End: spanKey(endDay * DaySpans), Limit: (KeepHourDays + 1) * DaySpans}}
}

// usageOfHour returns the usage of a ten-minute row, with its hour.
func usageOfHour(row abi.Row) (Usage, error) {
	s, err := decodeSpan(row.Value)
	total := totalOf(s.models)
	hour := abi.Unfixed(strings.TrimPrefix(row.Key, rowSpans)) * SpanMs / calendar.HourMs
	total.Usage.Day, total.Usage.Hour = hour/24, hour%24
	return total.Usage, err
}

// addHour adds the usage of a ten-minute row to its hour.
func (p *QueryReply) addHour(row abi.Row) error {
	u, err := usageOfHour(row)
	if u.Ends = (Endings{}); err == nil && u != (Usage{Day: u.Day, Hour: u.Hour}) {
		p.add(ByHour, "", &u)
	}
	return err
}

// newActivityCommand returns an empty command about the activity of a project or the deployment.
func newActivityCommand(op uint64) command {
	switch op {
	case opActivity:
		return new(ActivityQuery)
	case opSummary:
		return new(Summary)
	case opOverview:
		return new(OverviewQuery)
	case opStatuses:
		return new(StatusQuery)
	}
	return nil
}
