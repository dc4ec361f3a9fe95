package keymeter

import "github.com/postern-ai/postern/core/abi"

// PutReply is the reply to Put, also to one that is repeated or late.
type PutReply struct {
	// WaitMs is the time until the last lease that contradicts the record has ended. A change must not be
	// acknowledged earlier. 0: at once.
	WaitMs uint64
}

// Encode encodes the reply. Without a wait it is empty, as the reply of objects of older versions.
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
