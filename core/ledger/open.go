package ledger

import "github.com/postern-ai/postern/core/abi"

// PolicyQuestion is what Open makes of Policy.
type PolicyQuestion struct{}

// Absorbing is what Open makes of Batch.
type Absorbing struct{}

// Open reads a command for those who stand between an exchange and its ledger, such as a simulation: a *Grant,
// *Report, *Absorbing or *PolicyQuestion; nil for any other, and for what none of them wrote.
func Open(command []byte) any {
	r := abi.Reader{Buf: command}
	var opened any
	switch r.Uint() {
	case opGrant:
		c := decodeGrant(&r)
		opened = &c
	case opReport:
		c := decodeReport(&r)
		opened = &c
	case opBatch:
		for n := r.Count(); n > 0; n-- {
			r.Bytes()
		}
		opened = &Absorbing{}
	case opPolicy:
		opened = &PolicyQuestion{}
	}
	if r.End() != nil {
		return nil
	}
	return opened
}

// Encode is the reply.
func (g *GrantReply) Encode() []byte { return g.encode() }

// Encode is the reply.
func (p *ReportReply) Encode() []byte { return p.encode() }
