package ledger

import "github.com/postern-ai/postern/core/abi"

// PolicyCommand is what Open makes of Policy.
type PolicyCommand struct{}

// BatchCommand is what Open makes of Batch.
type BatchCommand struct{}

// Open reads a command for those who stand between an exchange and its ledger, such as a simulation: a *Grant,
// *Report, *BatchCommand or *PolicyCommand; nil for any other, and for what none of them wrote.
func Open(command []byte) any {
	r := abi.Reader{Buf: command}
	var opened message
	switch r.Uint() {
	case opGrant:
		opened = &Grant{}
	case opReport:
		opened = &Report{}
	case opBatch:
		return &BatchCommand{}
	case opPolicy:
		return &PolicyCommand{}
	default:
		return nil
	}
	if decode(r.Buf, opened) != nil {
		return nil
	}
	return opened
}

// Encode is the reply.
func (g *GrantReply) Encode() []byte { return encode(0, g, 64) }

// Encode is the reply.
func (p *ReportReply) Encode() []byte { return encode(0, p, 256) }
