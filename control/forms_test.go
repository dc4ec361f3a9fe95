package control_test

import (
	"testing"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/test/controltest"
)

func TestHashedNames(t *testing.T) {
	controltest.CheckForm(t, control.HasHash, `^[a-z0-9-]+-[A-Z0-9]{8}\.[a-z0-9]+$`)
}
