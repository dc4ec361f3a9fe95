package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// movedRows lists the prefixes of the rows that package move may write. CheckMoved lists the other rows.
var movedRows = []string{
	rowKeys, rowModels, rowDetails, rowHours, rowSpans, rowSpanDays, rowRecent, rowEnds, rowKeyEnds, rowHourEnds, rowRecords, rowViolation, rowViolationAge, string(rowsChain),
}

// reportRows are the prefixes of the rows with the reports of projects to the deployment, and their progress.
var reportRows = [...]string{rowSummary, rowStatus, rowSumHours, rowSumDays, rowAllHours, rowAllDays, rowAllFrom}

// MovesNot reports whether a row stays behind when its Ledger moves. Only the reports to the deployment and their
// progress stay behind. The new deployment gets reports of its own.
func MovesNot(row abi.Row) bool {
	for _, prefix := range reportRows {
		if strings.HasPrefix(row.Key, prefix) {
			return true
		}
	}
	return false
}

// CheckMoved returns an error for a row that does not belong to a Ledger. It also returns an error if every command
// reads the row and the Ledger could not decode it.
func CheckMoved(row abi.Row) error {
	switch row.Key {
	case rowBudget:
		var b budget
		return abi.DecodeFields(row.Value, b.fields)
	case rowPolicy:
		if len(row.Value) == 0 { // groups have no policy
			return nil
		}
		_, err := doc.DecodePolicy(row.Value)
		return err
	case rowUpward:
		var u upward
		return abi.DecodeFields(row.Value, u.fields)
	case rowAlerts, rowViolations, rowClosed, rowTallies:
		return nil
	}
	for _, prefix := range movedRows {
		if !strings.HasPrefix(row.Key, prefix) {
			continue
		}
		if prefix == rowKeys {
			var m meter
			return abi.DecodeFields(row.Value, m.fields)
		}
		return nil
	}
	return abi.ErrMalformed
}

// MovedMeter returns the name of the KeyMeter that a row is about. A Ledger has such a row for every key that was
// ever used, including removed keys.
func MovedMeter(row abi.Row) (name string, ok bool) { return strings.CutPrefix(row.Key, rowKeys) }

// MovedNodes returns the IDs of the groups and the deployment to which a project's Ledger with this row sends usage.
func MovedNodes(row abi.Row) (ids []string) {
	var u upward
	if row.Key != rowUpward || abi.DecodeFields(row.Value, u.fields) != nil {
		return nil
	}
	for i := range u.paths {
		for _, n := range u.paths[i].Nodes {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
