package keymeter

import "github.com/postern-ai/postern/core/abi"

// Open reads a command for those who stand between an exchange and its meter, such as a simulation: an *Admit,
// *Settle, *Extend or *Flush; nil for any other, and for what none of them wrote.
func Open(command []byte) any {
	r := abi.Reader{Buf: command}
	var opened any
	switch r.Uint() {
	case opAdmit:
		c := decodeAdmit(&r)
		opened = &c
	case opSettle:
		c := decodeSettle(&r)
		opened = &c
	case opExtend:
		c := decodeExtend(&r)
		opened = &c
	case opFlush:
		opened = &Flush{r.Bool()}
	}
	if r.End() != nil {
		return nil
	}
	return opened
}

// Encode is the reply.
func (a *AdmitReply) Encode() []byte { return a.encode() }

// Encode is the reply.
func (f *FlushReply) Encode() []byte { return f.encode() }
