package keymeter_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// keeping is the reducer of a meter that stays decoded between commands. It fails the test if it does not do the same
// as the one that decodes its row, or if the kept meter differs from its row. All tests of the package use it.
type keeping struct {
	*testing.T
	turn keymeter.Turn
	kept *keymeter.Kept
}

func (k *keeping) reads(in *abi.ObjectInput) ([]abi.Range, error) {
	k.Helper()
	want, wantErr := keymeter.Reads(in)
	turn, err := keymeter.NewTurn(in.Command)
	if (err != nil) != (wantErr != nil) || err == nil && !slices.Equal(turn.Reads(), want) {
		k.Errorf("command %x reads %v (%v), want %v (%v)", in.Command, turn.Reads(), err, want, wantErr)
	}
	return want, wantErr
}

func (k *keeping) apply(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	k.Helper()
	want, wantErr := keymeter.Apply(plans, in)
	var err error
	if in.Round == 0 {
		k.turn, err = keymeter.NewTurn(in.Command)
	}
	var out abi.ObjectOutput
	var w, after abi.Writer
	if in.Encode(&w); err == nil {
		out, k.kept, err = k.turn.Apply(plans, in, k.kept)
	}
	if (err != nil) != (wantErr != nil) || !bytes.Equal(encoded(&out), encoded(&want)) {
		k.Errorf("command %x with a meter that was kept: %+v (%v), want %+v (%v)", in.Command, out, err, want, wantErr)
	}
	if in.Encode(&after); !bytes.Equal(after.Buf, w.Buf) {
		k.Errorf("command %x changed its input", in.Command)
	}
	if k.kept != nil && len(in.Rows[0].Value) < maxChecked {
		if drift := k.kept.Drifted(); drift != "" {
			k.Errorf("command %x: %s", in.Command, drift)
		}
	}
	return want, wantErr
}

// maxChecked is the size up to which a row is compared with the kept meter.
const maxChecked = 1000

func encoded(out *abi.ObjectOutput) []byte {
	var w abi.Writer
	out.Encode(&w)
	return w.Buf
}
