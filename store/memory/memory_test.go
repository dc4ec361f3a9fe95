package memory_test

import (
	"testing"

	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
	"github.com/postern-ai/postern/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, clock *storetest.Clock) store.Store { return memory.New(clock) })
}
