package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	objects "github.com/postern-ai/postern/core/object"
)

// Only this file knows the encoding of commands and the functions of the core that a host calls.

// reducer runs the commands of all object classes.
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

// Op codes of KeyMeter commands.
const (
	opPut    = 3
	opAdmit  = 6
	opSettle = 7
	opExtend = 8
	opReport = 9
	opFlush  = 4
)

// op returns a command's op code.
func op(command []byte) uint64 {
	r := abi.Reader{Buf: command}
	return r.Uint()
}

// admitCommand is the part of an Admit that the world's accounts use.
type admitCommand struct {
	id        string
	version   uint64
	mode      keymeter.Mode
	model     string
	amount    int64
	least     int64 // the smallest reservation that is enough for the request
	expiresMs uint64
	release   bool // it ends an incomplete reservation

	violations []ledger.Violation
}

func readAdmit(command []byte) admitCommand {
	c := keymeter.Open(command).(*keymeter.Admit)
	a := admitCommand{c.RequestID, c.Version, c.Mode, c.Model, c.AmountPico, c.LeastPico, c.LifetimeMs, c.Tree.Release, c.Violations}
	if a.least == 0 {
		a.least = a.amount
	}
	return a
}

func readExtend(command []byte) (id string) {
	return keymeter.Open(command).(*keymeter.Extend).RequestID
}

// settleCommand is the part of a Settle that the world's accounts use.
type settleCommand struct {
	id      string
	outcome keymeter.Outcome
	charges []charge // one per attempt
	tokens  uint64   // total
	cost    int64

	violations []ledger.Violation
}

type charge struct {
	model  string
	tokens uint64
	cost   int64
}

func readSettle(command []byte) settleCommand {
	c := keymeter.Open(command).(*keymeter.Settle)
	s := settleCommand{id: c.RequestID, outcome: c.Outcome, violations: c.Violations}
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

// detail is the Ledger's sum for one day, one key and one model.
type detail struct {
	keyID, model string
	usage        ledger.Usage
}

// detailsQuery returns a query for all sums by day, key and model.
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

// readFlush returns a meter's number of open reservations and its number of usage batches.
func readFlush(reply []byte) (open uint64, batches int, err error) {
	f, err := keymeter.DecodeFlushReply(reply)
	return f.Open, len(f.Absorbs), err
}

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

// Op codes of Ledger commands.
const (
	opBudget = 1
	opBatch  = 6
	opGrant  = 12
	opReturn = 40
)

func readBudget(command []byte) (version uint64, pico int64) {
	r := abi.Reader{Buf: command}
	r.Uint()
	return r.Uint(), r.Int()
}

// funds are a Ledger's row of the budget.
type funds struct {
	period           calendar.Period
	committed, spent int64
}

func readFunds(row []byte) (f funds) {
	r := abi.Reader{Buf: row}
	r.Uint()
	r.Uint()
	r.Int()
	f.period = calendar.Period(r.Uint())
	f.committed, f.spent = r.Int(), r.Int()
	return f
}

// readShare returns a Ledger's row of a meter: the granted and the spent amount of a period.
func readShare(row []byte) (period calendar.Period, granted, spent int64) {
	r := abi.Reader{Buf: row}
	r.Uint()
	period = calendar.Period(r.Uint())
	r.Bool()
	granted, spent = r.Int(), r.Int()
	return period, granted, spent
}

// reserves reports whether a command of an exchange obtains budget. total is that of an extension.
func reserves(a *abi.Action) (yes bool, total int64) {
	switch c := op(a.Data); {
	case a.Class == abi.ClassLedger:
		return c == opGrant || c == opBatch || c == opReturn, 0
	case a.Class != abi.ClassKeyMeter:
	case c == opAdmit:
		return readAdmit(a.Data).mode == keymeter.ModeReserve, 0
	case c == opExtend:
		return true, keymeter.Open(a.Data).(*keymeter.Extend).TotalPico
	case c == opFlush:
		return true, 0
	}
	return false, 0
}

// noGrant is the reply of a Ledger whose budget is used up if it can recall no slice.
var noGrant = (&ledger.GrantReply{}).Encode()

// unknownVerdict is a meter's reply for an unknown key.
var unknownVerdict = (&keymeter.AdmitReply{Verdict: keymeter.Unknown}).Encode()

func putCommand(status doc.Status, record doc.Record) []byte {
	p := keymeter.Put{Status: status, Record: record}
	return p.Encode()
}

// settledAgain returns commands that book a settlement's cost a second time.
func settledAgain(command []byte) [][]byte {
	s := readSettle(command)
	admit := keymeter.Admit{RequestID: s.id + "/again", Version: 1 << 40, Mode: keymeter.ModeReserve, Model: "alpha", LifetimeMs: 1000}
	settle := keymeter.Settle{RequestID: s.id + "/again", Outcome: keymeter.Served, Model: "alpha", CostPico: s.cost + 1}
	return [][]byte{admit.Encode(), settle.Encode()}
}

// readPutReply returns for how long a change must not be acknowledged.
func readPutReply(reply []byte) (waitMs uint64) {
	r, err := keymeter.DecodePutReply(reply)
	if err != nil {
		panic(err)
	}
	return r.WaitMs
}
