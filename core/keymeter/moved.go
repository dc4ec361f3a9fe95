package keymeter

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
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
