package keymeter

import (
	"bytes"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Kept is a meter that stays decoded from one command to the next, beside the row that it was decoded from or written
// to. A busy meter's row has some KB, of which a command changes little.
type Kept struct {
	row []byte
	m   *meter
}

// keptBytes is the approximate memory of a meter without the data that grows with its row. keptUsageBytes is that of
// the usage of one model.
const (
	keptBytes      = 2048
	keptUsageBytes = 512
)

// Bytes returns the approximate memory of the meter.
func (k *Kept) Bytes() int { return keptBytes + 3*len(k.row) + keptUsageBytes*len(k.m.usage) }

// Turn is one command, or the alarm, decoded once for its reads and its rounds. Hosts that do not encode their messages
// use it in place of Reads and Apply.
type Turn struct{ command command }

// NewTurn decodes a command. An empty command is the alarm.
func NewTurn(data []byte) (t Turn, err error) {
	if len(data) > 0 {
		t.command, err = decodeCommand(data)
	}
	return t, err
}

// Reads is the function Reads.
func (t *Turn) Reads() []abi.Range { return reads(t.command) }

// Apply is the function Apply for a meter that the host may have kept. The result is the same with and without it: if
// kept belongs to another row than the one in the input, the row is decoded. The caller must not use kept afterward,
// because the command changes it. Apply returns what the caller may keep once the command's changes are committed, or
// nil. The rows that it puts do not share memory with the input.
func (t *Turn) Apply(cfg *config.Config, in *abi.ObjectInput, kept *Kept) (abi.ObjectOutput, *Kept, error) {
	c := call{config: cfg, in: in}
	if row, ok := c.row(rowMeter); ok {
		if kept == nil || !bytes.Equal(row, kept.row) {
			m, err := decodeMeter(bytes.Clone(row)) // the row is valid only during the command, and the meter shares its memory
			if err != nil {
				return abi.ObjectOutput{}, nil, err
			}
			kept = &Kept{m: m}
		}
		c.m = kept.m
	}
	c.apply(t.command)
	for i := range c.out.Puts {
		if p := &c.out.Puts[i]; p.Key != rowMeter {
			p.Value = bytes.Clone(p.Value)
		}
	}
	return c.out, c.keep(), nil
}

// keep returns the meter if a decoded copy of the row that the command has written would be the same.
func (c *call) keep() *Kept {
	if !c.stored {
		return nil
	}
	row := *c.written(rowMeter)
	c.m.size = len(row)
	c.m.level().Unsent = false // of the project's level, it has no meaning and is not stored
	return &Kept{row, c.m}
}
