package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	core "github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	objects "github.com/postern-ai/postern/core/object"
)

// This file is the only one that knows how commands are laid out and which functions of the core a host calls.

func step(in *abi.StepInput) abi.StepOutput { return core.Step(worldConfig, in) }

// reducer is the policy of all objects.
var reducer = objects.Reducer{
	Reads: func(in *abi.ObjectInput) ([]abi.Range, error) {
		switch in.Class {
		case abi.ClassKeyMeter:
			return keymeter.Reads(in)
		case abi.ClassLedger:
			return ledger.Reads(in)
		}
		return directory.Reads(in.Command)
	},
	Apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		switch in.Class {
		case abi.ClassKeyMeter:
			return keymeter.Apply(worldConfig, in)
		case abi.ClassLedger:
			return ledger.Apply(in)
		}
		return directory.Apply(in)
	},
}

// Ops of a KeyMeter's commands.
const (
	opPut    = 3
	opAdmit  = 6
	opSettle = 7
	opExtend = 8
)

// op is a command's kind.
func op(command []byte) uint64 {
	r := abi.Reader{Buf: command}
	return r.Uint()
}

// admitCommand is what the world's books need of an Admit.
type admitCommand struct {
	id        string
	version   uint64
	mode      keymeter.Mode
	model     string
	amount    int64
	least     int64 // the least that the request may reserve
	expiresMs uint64
}

func readAdmit(command []byte) admitCommand {
	c := keymeter.Open(command).(*keymeter.Admit)
	a := admitCommand{c.RequestID, c.Version, c.Mode, c.Model, c.AmountPico, c.LeastPico, c.ExpiresMs}
	if a.least == 0 {
		a.least = a.amount
	}
	return a
}

// readExtend is whose reservation is to be larger.
func readExtend(command []byte) (id string) {
	return keymeter.Open(command).(*keymeter.Extend).RequestID
}

// settleCommand is what the world's books need of a Settle.
type settleCommand struct {
	id      string
	outcome keymeter.Outcome
	charges []charge // by target
	tokens  uint64   // of all
	cost    int64
}

type charge struct {
	model  string
	tokens uint64
	cost   int64
}

func readSettle(command []byte) settleCommand {
	c := keymeter.Open(command).(*keymeter.Settle)
	s := settleCommand{id: c.RequestID, outcome: c.Outcome}
	add := func(model string, t keymeter.Tokens, cost int64) {
		s.charges = append(s.charges, charge{model, t.Prompt + t.Completion, cost})
		s.tokens += t.Prompt + t.Completion
		s.cost += cost
	}
	add(c.Model, c.Tokens, c.CostPico)
	for _, a := range c.Attempts {
		add(a.Model, a.Tokens, a.CostPico)
	}
	return s
}

// detail is one line of the Ledger's sums.
type detail struct {
	keyID, model string
	usage        ledger.Usage
}

// detailsQuery asks for all sums by day, key and model.
func detailsQuery(first, end uint64) []byte {
	q := ledger.Query{FirstDay: first, EndDay: end, By: ledger.ByDetail}
	return q.Encode()
}

func readDetails(reply []byte) ([]detail, error) {
	q, err := ledger.DecodeQueryReply(reply)
	var all []detail
	for _, g := range q.Groups {
		all = append(all, detail{g.KeyID, g.Usage.Model, g.Usage})
	}
	return all, err
}

func flushCommand(recall bool) []byte {
	f := keymeter.Flush{Recall: recall}
	return f.Encode()
}

// readFlush is how many reservations a meter holds, and how many batches it hands over.
func readFlush(reply []byte) (open uint64, batches int, err error) {
	f, err := keymeter.DecodeFlushReply(reply)
	return f.Open, len(f.Absorbs), err
}

// readPut is what a meter is told of its key.
func readPut(command []byte) (doc.Status, doc.Record) {
	r := abi.Reader{Buf: command}
	r.Uint()
	status := doc.Status(r.Uint())
	record, err := doc.DecodeRecord(r.Bytes())
	if err != nil {
		panic(err)
	}
	return status, record
}

// Ops of a Ledger's commands.
const opBudget = 1

// readBudget is what a Ledger is told of its budget.
func readBudget(command []byte) (version uint64, pico int64) {
	r := abi.Reader{Buf: command}
	r.Uint()
	return r.Uint(), r.Int()
}

const opGrant = 12 // a Ledger's

// noGrant is a Ledger's answer that its budget has no more, and nobody to recall from.
var noGrant = (&ledger.GrantReply{}).Encode()

// unknownVerdict is a meter's answer that there is no such key.
var unknownVerdict = (&keymeter.AdmitReply{Verdict: keymeter.Unknown}).Encode()

func putCommand(status doc.Status, record doc.Record) []byte {
	p := keymeter.Put{Status: status, Record: record}
	return p.Encode()
}

// settledAgain are commands that book once more what a settle booked.
func settledAgain(command []byte) [][]byte {
	s := readSettle(command)
	admit := keymeter.Admit{RequestID: s.id + "/again", Version: 1 << 40, Mode: keymeter.ModeReserve, Model: "alpha", ExpiresMs: 1000}
	settle := keymeter.Settle{RequestID: s.id + "/again", Outcome: keymeter.Served, Model: "alpha", CostPico: s.cost + 1}
	return [][]byte{admit.Encode(), settle.Encode()}
}
