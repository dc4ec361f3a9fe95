package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	core "github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// This file is the only one that knows how commands are laid out and which functions of the core a host calls.

func step(in *abi.StepInput) abi.StepOutput { return core.Step(worldConfig, in) }

func reads(in *abi.ObjectInput) ([]abi.Range, error) {
	switch in.Class {
	case abi.ClassKeyMeter:
		return keymeter.Reads(in)
	case abi.ClassLedger:
		return ledger.Reads(in)
	}
	return directory.Reads(in.Command)
}

func apply(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	switch in.Class {
	case abi.ClassKeyMeter:
		return keymeter.Apply(worldConfig, in)
	case abi.ClassLedger:
		return ledger.Apply(in)
	}
	return directory.Apply(in)
}

// Ops of a KeyMeter's commands.
const (
	opAdmit  = 1
	opSettle = 2
	opPut    = 3
	opFlush  = 4
	opExtend = 5
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
	least     int64 // the least that the request may reserve
	amount    int64 // what it reserves if it is admitted
	expiresMs uint64
	idem      string
}

func readAdmit(command []byte) admitCommand {
	r := abi.Reader{Buf: command}
	r.Uint()
	a := admitCommand{id: r.String(), version: r.Uint(), mode: keymeter.Mode(r.Uint()), model: r.String(), amount: r.Int(), expiresMs: r.Uint()}
	a.least = a.amount
	r.Uint()
	r.Uint()
	r.Int()
	a.idem = r.String()
	return a
}

// reservedBy is what an admission reserved, by the command and the reply.
func reservedBy(a *admitCommand, _ *keymeter.AdmitReply) int64 { return a.amount }

// readExtend is whose reservation is to be how large.
func readExtend(command []byte) (id string, total int64) {
	r := abi.Reader{Buf: command}
	r.Uint()
	return r.String(), r.Int()
}

// settleCommand is what the world's books need of a Settle.
type settleCommand struct {
	id      string
	outcome keymeter.Outcome
	model   string
	tokens  uint64
	cost    int64
}

func readSettle(command []byte) settleCommand {
	r := abi.Reader{Buf: command}
	r.Uint()
	return settleCommand{id: r.String(), outcome: keymeter.Outcome(r.Uint()), model: r.String(), tokens: r.Uint() + r.Uint(), cost: r.Int()}
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

// reportQuery asks what was used of the budget, without asking the meters.
func reportQuery(day, now uint64) []byte {
	month := calendar.Month(day)
	q := ledger.Report{FirstDay: calendar.MonthStart(month), EndDay: calendar.MonthStart(month + 1), AsOfMs: now, Final: true}
	return q.Encode()
}

func readReport(reply []byte) (usedPico int64, err error) {
	p, err := ledger.DecodeReportReply(reply)
	return p.UsedPico, err
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

const opGrant = 2 // a Ledger's

// noGrant is a Ledger's answer that its budget has no more, and nobody to recall from.
var noGrant = func() []byte {
	var w abi.Writer
	w.Uint(uint64(calendar.NewPeriod(calendar.Monthly, 0, noon/dayMs)))
	w.Int(-1)
	w.Uint(0)
	return w.Buf
}()

// unknownVerdict is a meter's answer that there is no such key.
var unknownVerdict = []byte{byte(keymeter.Unknown), 0, 0, 0, 0, 0, 0, 0}

func putCommand(status doc.Status, record doc.Record) []byte {
	p := keymeter.Put{Status: status, Record: record}
	return p.Encode()
}

// settledAgain are commands that book once more what a settle booked.
func settledAgain(command []byte) [][]byte {
	s := readSettle(command)
	if s.cost == 0 {
		s.cost = 1
	}
	admit := keymeter.Admit{RequestID: s.id + "/again", Version: 1 << 40, Mode: keymeter.ModeReserve, Model: s.model, ExpiresMs: 1000}
	settle := keymeter.Settle{RequestID: s.id + "/again", Outcome: keymeter.Served, Model: s.model, CostPico: s.cost}
	return [][]byte{admit.Encode(), settle.Encode()}
}
