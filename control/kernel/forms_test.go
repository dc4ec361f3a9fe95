package kernel_test

import (
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/test/controltest"
)

func TestRequestIDs(t *testing.T) {
	controltest.CheckForm(t, kernel.IsRequestID, `^req_[0-9a-f]{32}$`)
}

func TestSHA256s(t *testing.T) {
	controltest.CheckForm(t, kernel.IsSHA256, `^[0-9a-f]{64}$`)
}
