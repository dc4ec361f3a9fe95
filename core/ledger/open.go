package ledger

import "github.com/postern-ai/postern/core/abi"

// PolicyCommand is the result of Open for a Policy command.
type PolicyCommand struct{}

// BatchCommand is the result of Open for a Batch command.
type BatchCommand struct{}

// ReturnsCommand is the result of Open for a Returns command.
type ReturnsCommand struct{}

// Open decodes a command for code that sits between an exchange and its Ledger, such as a simulation. It returns a
// *Grant, *Report, *Tally, *BatchCommand, *Return, *ReturnsCommand or *PolicyCommand. It returns nil for other or
// malformed commands. It does not check the contents of commands that contain several.
func Open(command []byte) any {
	r := abi.Reader{Buf: command}
	var opened message
	switch r.Uint() {
	case opGrant:
		opened = &Grant{}
	case opReport:
		opened = &Report{}
	case opTally:
		opened = &Tally{}
	case opReturn:
		opened = &Return{}
	case opBatch:
		return &BatchCommand{}
	case opReturns:
		return &ReturnsCommand{}
	case opPolicy:
		return &PolicyCommand{}
	default:
		return nil
	}
	if abi.DecodeFields(r.Buf, opened.fields) != nil {
		return nil
	}
	return opened
}

// Encode encodes the reply.
func (g *GrantReply) Encode() []byte { return abi.EncodeFields(0, 64, g.fields) }

// Encode encodes the reply.
func (p *ReportReply) Encode() []byte { return abi.EncodeFields(0, 256, p.fields) }
