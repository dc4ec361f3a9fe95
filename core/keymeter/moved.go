package keymeter

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/budget"
	"github.com/postern-ai/postern/core/doc"
)

// movedRows lists the rows that package move may write in addition to the meter: all except the outbox.
var movedRows = []string{rowExpired, rowLease, rowIdem, rowAnswer, rowForget}

// CheckMoved returns an error for a row that does not belong to a KeyMeter. It also returns an error for a meter that
// is malformed or belongs to another project.
func CheckMoved(row abi.Row, projectID string) error {
	if row.Key == rowMeter {
		m, err := decodeMeter(row.Value)
		if err == nil && m.record.ProjectID != projectID {
			err = abi.ErrMalformed
		}
		return err
	}
	for _, prefix := range movedRows {
		if strings.HasPrefix(row.Key, prefix) {
			return nil
		}
	}
	return abi.ErrMalformed
}

// MovedNodes returns the IDs of the groups, the deployment and the projects whose Ledgers a meter's row names, in
// addition to that of its project's dollars. The meter calls these Ledgers.
func MovedNodes(row abi.Row) (ids []string) {
	if row.Key != rowMeter {
		return nil
	}
	m, err := decodeMeter(row.Value)
	if err != nil {
		return nil
	}
	for _, levels := range [][]budget.Level{m.chain.Levels, m.chain.Former} {
		for i := range levels {
			if l := &levels[i]; l.Ledger != "" && l.Own == 0 {
				id, _ := doc.UnitOf(l.Ledger)
				ids = append(ids, id)
			}
		}
	}
	return ids
}
