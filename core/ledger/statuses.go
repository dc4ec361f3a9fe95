package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

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
