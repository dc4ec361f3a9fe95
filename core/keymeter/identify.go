package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// Identify is the command that asks for a meter's key and project. It changes nothing. The reply is an Identity.
type Identify struct{}

// Encode encodes the command.
func (c *Identify) Encode() []byte { return abi.EncodeFields(opIdentify, 2, c.fields) }

func (*Identify) fields(*abi.Fields) {}

func (*Identify) reads() []abi.Range { return nil }

// apply also replies for inactive and expired keys, because an operator who finds a key needs to know its current
// state.
func (*Identify) apply(c *call) {
	var reply Identity
	if c.m != nil && c.m.status != doc.Removed {
		reply = Identity{c.m.record.ProjectID, c.m.record.KeyID}
	}
	c.out.Reply = abi.EncodeFields(0, 80, reply.fields)
}

// Identity is the reply to Identify: the IDs of the key and of its project. It is empty if the key does not exist or
// was removed.
type Identity struct{ ProjectID, KeyID string }

// DecodeIdentity decodes the reply to Identify.
func DecodeIdentity(data []byte) (i Identity, err error) {
	err = abi.DecodeFields(data, i.fields)
	return i, err
}

func (i *Identity) fields(f *abi.Fields) {
	f.String(&i.ProjectID)
	f.String(&i.KeyID)
}
