package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// call is one command being applied.
type call struct {
	config *config.Config
	in     *abi.ObjectInput
	m      *meter // nil: the key is unknown, because no Put has arrived yet
	stored bool   // the meter has not changed since it was written
	out    abi.ObjectOutput
}

func (c *call) row(key string) ([]byte, bool) {
	for _, row := range c.in.Rows {
		if row.Key == key {
			return row.Value, true
		}
	}
	return nil, false
}

// written returns the place of a row's value in the command's output, or nil.
func (c *call) written(key string) *[]byte {
	for i := range c.out.Puts {
		if c.out.Puts[i].Key == key {
			return &c.out.Puts[i].Value
		}
	}
	return nil
}

func (c *call) put(key string, value []byte) {
	if written := c.written(key); written != nil {
		*written = value
		return
	}
	c.out.Puts = append(c.out.Puts, abi.Row{Key: key, Value: value})
}

// store writes the meter, and sets the alarm for its next scheduled work or for a batch that must be delivered now.
func (c *call) store() {
	c.stored = false // a later step of the command may change the meter without another store
	c.m.cross(c.in.NowMs)
	c.put(rowMeter, c.m.encode())
	c.out.AlarmMs = c.m.alarmMs()
	if c.out.Deliver {
		c.out.AlarmMs = minNonZero(c.out.AlarmMs, c.in.NowMs+abi.RedeliverMs)
	}
}

// finish is store for a command that does not change the meter afterward. A host may then keep the meter.
func (c *call) finish() {
	c.store()
	c.stored = true
}
