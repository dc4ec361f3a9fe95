package keymeter

import "github.com/postern-ai/postern/core/abi"

// Open reads a command for those who stand between an exchange and its meter, such as a simulation: an *Admit,
// *Settle, *Extend or *Flush; nil for any other, and for what none of them wrote.
func Open(command []byte) any {
	r := abi.Reader{Buf: command}
	var opened message
	switch r.Uint() {
	case opAdmit:
		opened = &Admit{}
	case opSettle:
		opened = &Settle{}
	case opExtend:
		opened = &Extend{}
	case opFlush:
		opened = &Flush{}
	default:
		return nil
	}
	if decode(r.Buf, opened) != nil {
		return nil
	}
	return opened
}

// Encode is the reply.
func (a *AdmitReply) Encode() []byte { return encode(0, a, 128) }

// Encode is the reply.
func (r *FlushReply) Encode() []byte { return encode(0, r, 64) }
