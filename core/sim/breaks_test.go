package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
)

// breaks are defects that a test puts into a world, to see that the rules notice.
type breaks struct {
	before   func(o *object, command []byte) (reply []byte, done bool)
	after    func(o *object, command, reply []byte) []byte
	delivery func(o *object, d *abi.Delivery) (lost bool)
	action   func(x *exchange, a *abi.Action) (dropped bool)
	place    func(key string) string
}

// place is where a value stands in memory and KV.
func (w *world) place(_ *exchange, key string) string {
	if w.breaks.place != nil {
		return w.breaks.place(key)
	}
	return key
}

func sound() breaks { return breaks{} }
