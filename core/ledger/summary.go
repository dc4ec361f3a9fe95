package ledger

import (
	"cmp"
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
)

// A project's Ledger sends summaries to the deployment's Ledger after commands that may change its figures, usually
// at most one in summaryMs. Each summary contains the total activity of each hour so far, so repeated or reordered
// summaries are harmless.

const (
	summaryMs = 30_000
	moreMs    = 1_000 // delay after a summary that could not hold everything
	// summaryHours is the maximum number of hours in one summary. More hours can be due for the first summary and
	// after an outage.
	summaryHours = 12
	// summaryNames is the number of models, and of keys, that an hour of a summary lists separately: the most
	// expensive ones.
	summaryNames = 12
	// summarySlot is the number of a summary in the outbox. Because it is the largest number, the summary is
	// delivered after everything else.
	summarySlot = 1<<48 - 1
	// recentSpans is the number of recent spans (10 to 20 minutes) whose attempts show whether a provider works.
	recentSpans = 2
)

// Summary is the command with which a project's Ledger reports to the Ledger of the deployment. It has no reply.
type Summary struct {
	Project        string
	Seq            uint64 // grows with each summary; at least the time in ms
	AtMs           uint64
	BudgetPico     int64
	SpentPico      int64 // in Period
	Period         calendar.Period
	OpenViolations uint64
	Recent         []Named // attempts of the last ten to twenty minutes, by model
	Hours          []SummaryHour
	Days           []SummaryHour // earlier full days; only in the first summary, and without keys
}

// SummaryHour is a project's activity in one hour so far. The keys have no durations.
type SummaryHour struct {
	Hour   uint64 // since 1970-01-01
	Models []Named
	Keys   []Named
}

func (s *Summary) fields(f *abi.Fields) {
	s.statusFields(f)
	abi.List(f, &s.Hours, summaryHourFields)
	abi.List(f, &s.Days, summaryHourFields)
}

// statusFields lists all fields except the hours and the days.
func (s *Summary) statusFields(f *abi.Fields) {
	f.String(&s.Project)
	f.Uint(&s.Seq)
	f.Uint(&s.AtMs)
	f.Int(&s.BudgetPico)
	f.Int(&s.SpentPico)
	PeriodFields(f, &s.Period)
	f.Uint(&s.OpenViolations)
	abi.List(f, &s.Recent, NamedFields)
}

func summaryHourFields(f *abi.Fields, h *SummaryHour) {
	f.Uint(&h.Hour)
	abi.List(f, &h.Models, NamedFields)
	abi.List(f, &h.Keys, NamedFields)
}

// Encode encodes the command.
func (s *Summary) Encode() []byte { return abi.EncodeFields(opSummary, 1024, s.fields) }

// sent is row "sm" of a project: the progress of its reports.
type sent struct {
	seq  uint64 // of the last summary
	atMs uint64
	hour uint64 // last hour that the summary covered
	hash uint64 // of its content
	more bool   // later hours are still due
}

func (s *sent) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&s.seq)
	f.Uint(&s.atMs)
	f.Uint(&s.hour)
	f.Uint(&s.hash)
	f.Bool(&s.more)
}

// dueMs returns when the next summary may be sent.
func (s *sent) dueMs(now uint64) uint64 {
	switch {
	case s.atMs > now: // the clock went back
		return now
	case s.more:
		return s.atMs + moreMs
	}
	return s.atMs + summaryMs
}

// summaryReads are the rows that the alarm needs to find out which hours are due.
var summaryReads = []abi.Range{{Start: rowSummary}, {Start: abi.OutboxKey(summarySlot)}}

// dueSummary sets the alarm for the next summary, after a command that may change its content.
func (c *call) dueSummary() {
	if !doc.IsNode(c.in.Name) {
		c.setAlarm(c.in.NowMs + summaryMs)
	}
}

// setAlarm sets the alarm, unless it is set for an earlier time.
func (c *call) setAlarm(ms uint64) {
	if c.out.AlarmMs == 0 || ms < c.out.AlarmMs {
		c.out.AlarmMs = ms
	}
}

// wantsSummary requests the rows of a summary in the alarm's first round. An object has only one alarm. If this alarm
// was set for something else, wantsSummary sets it again for the summary.
func (c *call) wantsSummary() (want bool, err error) {
	if doc.IsNode(c.in.Name) || c.in.Round > 0 {
		return false, nil
	}
	last, err := c.lastSummary()
	if err != nil {
		return false, err
	}
	_, waits := c.row(abi.OutboxKey(summarySlot))
	due := last.dueMs(c.in.NowMs)
	if waits {
		due = max(due, c.in.NowMs+summaryMs/2)
	}
	if due > c.in.NowMs {
		c.setAlarm(due)
		return false, nil
	}
	first, end := last.hours(c.in.NowMs)
	c.out.Ranges = []abi.Range{{Start: spanKey(first * HourSpans), End: spanKey(end * HourSpans), Limit: summaryHours * HourSpans}}
	if last.hour == 0 {
		c.out.Ranges = append(c.out.Ranges, historyReads(c.in.NowMs)...)
	}
	return true, nil
}

func (c *call) lastSummary() (last sent, err error) {
	if row, ok := c.row(rowSummary); ok {
		err = abi.DecodeFields(row, last.fields)
	}
	return last, err
}

// hours returns the candidates for the next summary. They start one hour before the last covered hour, because
// reports about an hour's last seconds arrive after its end. For the first summary, they start KeepHourDays days ago.
func (s *sent) hours(now uint64) (first, end uint64) {
	hour := now / calendar.HourMs
	if s.hour == 0 {
		return hour - min(hour, KeepHourDays*24), hour + 1
	}
	first = min(s.hour, hour)
	return first - min(1, first), hour + 1
}

// summarize puts a summary into the outbox if it contains anything new.
func (c *call) summarize() error {
	if c.in.Round == 0 {
		return nil // none is due
	}
	last, err := c.lastSummary()
	if err != nil {
		return err
	}
	s := Summary{Project: c.in.Name, BudgetPico: c.b.pico, SpentPico: c.b.spent, Period: c.b.period}
	first, end := last.hours(c.in.NowMs)
	if last.hour == 0 {
		if s.Days, err = c.history(); err != nil {
			return err
		}
	}
	first = max(first, c.oldestHour(end-1))
	end = min(end, first+summaryHours)
	if s.Hours, s.Recent, err = c.summaryHours(first, end); err != nil {
		return err
	}
	if s.OpenViolations, err = c.openViolations(); err != nil {
		return err
	}
	more := end <= c.in.NowMs/calendar.HourMs
	hash := hashOf(s.Encode())
	if hash == last.hash && !more || len(s.Hours)+len(s.Days) == 0 && c.b == (budget{}) {
		return nil
	}
	s.Seq, s.AtMs = max(last.seq+1, c.in.NowMs), c.in.NowMs
	last = sent{s.Seq, c.in.NowMs, end - 1, hash, more}
	c.put(rowSummary, abi.EncodeFields(0, 32, last.fields))
	d := abi.Delivery{Class: abi.ClassLedger, Name: Root, Data: s.Encode()}
	c.put(abi.OutboxKey(summarySlot), d.Encode())
	c.setAlarm(last.dueMs(c.in.NowMs))
	return nil
}

// hashOf returns the FNV-1a hash of its input.
func hashOf(data []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range data {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// summaryHours returns the hours from first to end that have activity, and the attempts of the last spans.
func (c *call) summaryHours(first, end uint64) (hours []SummaryHour, recent []Named, err error) {
	present := c.in.NowMs / SpanMs
	for number := first * HourSpans; number < end*HourSpans; number++ {
		row, ok := c.row(spanKey(number))
		if !ok {
			continue
		}
		s, err := decodeSpan(row)
		if err != nil {
			return nil, nil, err
		}
		if len(hours) == 0 || hours[len(hours)-1].Hour != number/HourSpans {
			hours = append(hours, SummaryHour{Hour: number / HourSpans})
		}
		h := &hours[len(hours)-1]
		sum := span{models: h.Models, keys: h.Keys}
		sum.plus(&s)
		h.Models, h.Keys = sum.models, sum.keys
		for i := range s.models {
			if number+recentSpans > present && s.models[i].tried() {
				activityOf(&recent, s.models[i].Name, maxSpanModels).plusAttempts(&s.models[i].Usage)
			}
		}
	}
	for i := range hours {
		hours[i].Models = topOf(hours[i].Models)
		hours[i].Keys = withoutDurations(topOf(hours[i].Keys))
	}
	return hours, recent, nil
}

// tried reports whether a provider was called.
func (a *Activity) tried() bool { return a.Usage.Attempts.Used() || a.Usage.Tried() > 0 }

func (a *Activity) plusAttempts(u *Usage) {
	a.Usage.Requests += u.Requests
	a.Usage.Hits += u.Hits
	a.Usage.Mocked += u.Mocked
	a.Usage.Attempts.Plus(&u.Attempts)
}

// topOf keeps the names with the highest cost, then those with the most requests, and combines the others.
func topOf(list []Named) []Named {
	sortByCost(list)
	var top []Named
	for i := range list {
		activityOf(&top, list[i].Name, summaryNames).Plus(&list[i].Activity)
	}
	return top
}

// sortByCost sorts names by cost, then by requests, highest first.
func sortByCost(list []Named) {
	slices.SortStableFunc(list, func(a, b Named) int {
		return cmp.Or(cmp.Compare(b.Usage.CostPico, a.Usage.CostPico), cmp.Compare(b.Usage.Outcomes().Requests, a.Usage.Outcomes().Requests))
	})
}

func withoutDurations(list []Named) []Named {
	for i := range list {
		list[i].Activity = Activity{Usage: list[i].Usage}
	}
	return list
}

// openViolations returns the number of violations in the state "open".
func (c *call) openViolations() (uint64, error) {
	v, err := c.loadViolations()
	if err != nil {
		return 0, err
	}
	return v.byState[ViolationOpen], nil
}
