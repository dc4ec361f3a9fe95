package keymeter

import "github.com/postern-ai/postern/core/abi"

// PutReply is the reply to Put, including a Put that is repeated or late.
type PutReply struct {
	// WaitMs is the time until the last lease that contradicts the record has ended. The change must not be
	// acknowledged before that. 0: it can be acknowledged at once.
	WaitMs uint64
}

// Encode encodes the reply. Without a wait, it is empty, like the reply of older objects.
func (r *PutReply) Encode() []byte {
	if r.WaitMs == 0 {
		return nil
	}
	return abi.EncodeFields(0, 4, r.fields)
}

// DecodePutReply decodes the reply to Put.
func DecodePutReply(data []byte) (r PutReply, err error) {
	if len(data) > 0 {
		err = abi.DecodeFields(data, r.fields)
	}
	return r, err
}

func (r *PutReply) fields(f *abi.Fields) { f.Uint(&r.WaitMs) }
