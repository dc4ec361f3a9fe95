package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// Violations is the command that requests a page of violations, newest first. An empty filter selects all. The reply is a
// ViolationsReply.
type Violations struct {
	State    string // one of ViolationStates
	Rule     string
	Category string
	Severity string
	Decision string
	Model    string
	KeyID    string
	FromMs   uint64 // FirstMs of the earliest violation
	ToMs     uint64 // exclusive; 0: no bound
	After    string // ViolationsReply.Next of the previous page
	Limit    uint64 // at most MaxViolationPage; 0: only the totals
}

// Bounds of a page: the violations in it, and the rows that it reads.
const (
	MaxViolationPage = 100
	maxViolationScan = 500
)

// ViolationsReply is the reply to Violations.
type ViolationsReply struct {
	Violations []StoredViolation
	Next       string                  // ID of the last row that was read; empty on the last page
	ByState    [violationStates]uint64 // all violations of the project, by state
	Events     uint64                  // number of events so far; changes to a violation's count are not events
}

// Encode encodes the command.
func (q *Violations) Encode() []byte { return abi.EncodeFields(opViolations, 128, q.fields) }

func (q *Violations) fields(f *abi.Fields) {
	for _, text := range [...]*string{&q.State, &q.Rule, &q.Category, &q.Severity, &q.Decision, &q.Model, &q.KeyID, &q.After} {
		f.String(text)
	}
	f.Uint(&q.FromMs)
	f.Uint(&q.ToMs)
	f.Uint(&q.Limit)
}

// DecodeViolations decodes the reply to Violations.
func DecodeViolations(data []byte) (r ViolationsReply, err error) {
	err = abi.DecodeFields(data, r.fields)
	return r, err
}

func (r *ViolationsReply) fields(f *abi.Fields) {
	abi.List(f, &r.Violations, storedViolationFields)
	f.String(&r.Next)
	for i := range r.ByState {
		f.Uint(&r.ByState[i])
	}
	f.Uint(&r.Events)
}

func storedViolationFields(f *abi.Fields, v *StoredViolation) {
	f.String(&v.ID)
	v.messageFields(f)
}

// reads returns the rows of a page. IDs start with the time left until endOfTimeMs, so rows of later violations come
// first.
func (q *Violations) reads() []abi.Range {
	r := abi.Range{Start: rowViolation, End: rowViolation + abi.Fixed(endOfTimeMs-min(q.FromMs, endOfTimeMs)) + "~", Limit: q.scan()}
	if q.ToMs > 0 {
		r.Start += abi.Fixed(endOfTimeMs-min(q.ToMs, endOfTimeMs)) + "~"
	}
	if q.After != "" {
		r.Start = max(r.Start, rowViolation+q.After+"\x00")
	}
	if q.Limit == 0 || r.Start >= r.End {
		return []abi.Range{{Start: rowViolations}}
	}
	return []abi.Range{{Start: rowViolations}, r}
}

// limit returns the number of violations in a full page.
func (q *Violations) limit() int { return int(min(q.Limit, MaxViolationPage)) }

// scan returns the number of rows that a page reads: one more than it shows, or more if a filter may skip some.
func (q *Violations) scan() uint64 {
	if q.State+q.Rule+q.Category+q.Severity+q.Decision+q.Model+q.KeyID == "" {
		return uint64(q.limit()) + 1
	}
	return maxViolationScan
}

func (q *Violations) apply(c *call) error {
	s, err := c.loadViolations()
	if err != nil {
		return err
	}
	reply := ViolationsReply{ByState: s.byState, Events: s.events}
	read, last := uint64(0), ""
	for _, row := range c.in.Rows {
		id, ok := strings.CutPrefix(row.Key, rowViolation)
		if !ok {
			continue
		}
		if len(reply.Violations) == q.limit() {
			reply.Next = last
			break
		}
		v := StoredViolation{ID: id}
		if err := abi.DecodeFields(row.Value, v.fields); err != nil {
			return err
		}
		if q.matches(&v) {
			reply.Violations = append(reply.Violations, v)
		}
		read, last = read+1, id
	}
	if read == q.scan() {
		reply.Next = last
	}
	c.out.Reply = abi.EncodeFields(0, 64+384*len(reply.Violations), reply.fields)
	return nil
}

func (q *Violations) matches(v *StoredViolation) bool {
	for _, pair := range [...][2]string{
		{q.State, ViolationStates[min(v.State, violationStates-1)]}, {q.Rule, v.Rule}, {q.Category, v.Category}, {q.Severity, v.Severity},
		{q.Decision, v.Decision}, {q.Model, v.Model}, {q.KeyID, v.KeyID},
	} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return true
}
