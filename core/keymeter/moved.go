package keymeter

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// movedRows are the rows that package move may write besides the meter: all but the outbox.
var movedRows = []string{rowExpired, rowLease, rowIdem, rowAnswer, rowForget}

// CheckMoved returns an error for a row that is not one of a KeyMeter, or for the meter itself if it is malformed or does
// not belong to the project.
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
