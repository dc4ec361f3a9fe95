package keymeter

import (
	"bytes"
	"fmt"
)

// Drifted returns a description of a kept meter and of its row, if the row does not say the same.
func (k *Kept) Drifted() string {
	m, err := decodeMeter(bytes.Clone(k.row))
	if err != nil {
		return err.Error()
	}
	m.soften() // as a command does first
	if kept, stored := fmt.Sprintf("%+v", *k.m), fmt.Sprintf("%+v", *m); kept != stored {
		return fmt.Sprintf("kept %s\nrow  %s", kept, stored)
	}
	return ""
}
