package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/keymeter"
)

func TestPutReplies(t *testing.T) {
	for _, waitMs := range []uint64{0, 1, 127, 128, 2000, 1 << 40} {
		reply := keymeter.PutReply{WaitMs: waitMs}
		if got, err := keymeter.DecodePutReply(reply.Encode()); err != nil || got != reply {
			t.Errorf("%d: got %+v, %v", waitMs, got, err)
		}
	}
	if none := (&keymeter.PutReply{}).Encode(); len(none) != 0 {
		t.Errorf("a reply without a wait is %x", none)
	}
	for _, data := range [][]byte{{0x80}, {1, 2}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
		if got, err := keymeter.DecodePutReply(data); err == nil {
			t.Errorf("%x was decoded as %+v", data, got)
		}
	}
}
