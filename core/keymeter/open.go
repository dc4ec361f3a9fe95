package keymeter

import "github.com/postern-ai/postern/core/abi"

// Open decodes a command for code between an exchange and its meter, such as a simulation. The result is an *Admit,
// *Settle, *Extend, *Flush or *Report; nil if the command is another or malformed.
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
	case opReport:
		opened = &Report{}
	default:
		return nil
	}
	if abi.DecodeFields(r.Buf, opened.fields) != nil {
		return nil
	}
	return opened
}

// Encode encodes the reply.
func (a *AdmitReply) Encode() []byte { return abi.EncodeFields(0, 128, a.fields) }

// Encode encodes the reply.
func (r *FlushReply) Encode() []byte { return abi.EncodeFields(0, 64, r.fields) }
