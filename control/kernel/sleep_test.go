package kernel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
)

func TestNativeSleep(t *testing.T) {
	if err := kernel.SleepNatively(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := kernel.SleepNatively(left, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
