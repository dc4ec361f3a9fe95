package core_test

import (
	"fmt"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/object"
)

func init() { suite.FixSeed(map[string]string{"checks": "2000", "steps": "80", "shrinktime": "10s"}) }

const (
	hourMs = 3600_000
	dayMs  = 24 * hourMs
)

type objectName struct {
	class abi.Class
	name  string
}

// simObject is an object's storage. seenDay is the latest UTC day that its rows may contain.
type simObject struct {
	object.Memory
	seenDay uint64
}

// sim runs objects one command at a time. clockMs is the time that the clocks show, and realMs is the true time. They
// differ after a clock jump.
type sim struct {
	core            *core.Core
	clockMs, realMs uint64
	objects         map[objectName]*simObject
}

const simOverlay = `{"plans":[
	{"name":"tiny","perSecond":3,"perDay":40,"concurrent":8,"budget":"1"},
	{"name":"daily","perSecond":4,"perDay":6,"concurrent":8,"budget":"1"},
	{"name":"crowd","perSecond":0,"perDay":0,"concurrent":10000,"budget":"1"},
	{"name":"wide","perSecond":0,"perDay":0,"concurrent":100,"budget":"1"}]}`

var simCore = func() *core.Core {
	var w abi.Writer
	(&abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: "POSTERN_CATALOG", Value: simOverlay}}}).Encode(&w)
	c, out := core.Configure(w.Buf)
	if configured, err := abi.DecodeConfigured(out[core.Headroom:]); err != nil || configured.Error != "" {
		panic(fmt.Sprint(err, configured.Error))
	}
	return c
}()

// firstDay is November 30, 2026. Simulations start on that day at 23:30 UTC, shortly before the end of a month.
const firstDay = 20_787

func newSim() *sim {
	const start = firstDay*dayMs + dayMs - hourMs/2
	return &sim{core: simCore, clockMs: start, realMs: start, objects: map[objectName]*simObject{}}
}

func (s *sim) object(class abi.Class, name string) *simObject {
	id := objectName{class, name}
	if s.objects[id] == nil {
		s.objects[id] = &simObject{}
	}
	return s.objects[id]
}

// call runs one command in one transaction. A nil command fires the alarm.
func (s *sim) call(class abi.Class, name string, command []byte) []byte {
	o := s.object(class, name)
	in := abi.ObjectInput{NowMs: s.clockMs, Class: class, Name: name, Command: command}
	out, err := object.FromEncoded(withoutHeadroom(s.core.Reads), withoutHeadroom(s.core.Apply)).Run(&o.Memory, in)
	if err != nil {
		panic(err)
	}
	for _, row := range out.Puts {
		if row.Key == "h" {
			o.seenDay = max(o.seenDay, s.clockMs/dayMs)
		}
	}
	return out.Reply
}

// withoutHeadroom removes the headroom from f's results.
func withoutHeadroom(f func([]byte) []byte) func([]byte) ([]byte, error) {
	return func(message []byte) ([]byte, error) { return f(message)[core.Headroom:], nil }
}

// deliver delivers the oldest row of an outbox. If keep is set, the row remains, as it does after a lost
// confirmation.
func (s *sim) deliver(class abi.Class, name string, keep bool) (delivered bool) {
	o := s.object(class, name)
	key, d, err := object.NextDelivery(o)
	if err != nil {
		panic(err)
	}
	if key == "" {
		return false
	}
	s.call(d.Class, d.Name, d.Data)
	if !keep {
		_ = o.Commit(nil, []string{key}, 0)
	}
	return true
}

// fireAlarm fires an object's alarm if it is due.
func (s *sim) fireAlarm(class abi.Class, name string) (fired bool) {
	o := s.object(class, name)
	if o.AlarmMs == 0 || o.AlarmMs > s.clockMs {
		return false
	}
	o.AlarmMs = 0
	s.call(class, name, nil)
	return true
}

// runToEnd delivers all outboxes and fires all alarms until none are left. It calls onAlarm after each alarm.
func (s *sim) runToEnd(meters []string, onAlarm func(meter string)) {
	for range 10_000 {
		next := uint64(0)
		for _, name := range meters {
			for s.deliver(abi.ClassKeyMeter, name, false) {
			}
			if at := s.object(abi.ClassKeyMeter, name).AlarmMs; at != 0 && (next == 0 || at < next) {
				next = at
			}
		}
		if next == 0 {
			return
		}
		s.sleep(max(s.clockMs, next) - s.clockMs)
		for _, name := range meters {
			if s.fireAlarm(abi.ClassKeyMeter, name) {
				onAlarm(name)
			}
		}
	}
	panic("alarms keep firing")
}

func (s *sim) sleep(ms uint64) { s.clockMs, s.realMs = s.clockMs+ms, s.realMs+ms }

func (s *sim) admit(meter string, a keymeter.Admit) keymeter.AdmitReply {
	reply, err := keymeter.DecodeAdmitReply(s.call(abi.ClassKeyMeter, meter, a.Encode()))
	if err != nil {
		panic(err)
	}
	return reply
}

func (s *sim) flush(meter string, recall bool) keymeter.FlushReply {
	reply, err := keymeter.DecodeFlushReply(s.call(abi.ClassKeyMeter, meter, (&keymeter.Flush{Recall: recall}).Encode()))
	if err != nil {
		panic(err)
	}
	return reply
}

func (s *sim) grant(project string, g ledger.Grant) ledger.GrantReply {
	reply, err := ledger.DecodeGrantReply(s.call(abi.ClassLedger, project, g.Encode()))
	if err != nil {
		panic(err)
	}
	return reply
}

func (s *sim) report(project string, r ledger.Report) ledger.ReportReply {
	reply, err := ledger.DecodeReportReply(s.call(abi.ClassLedger, project, r.Encode()))
	if err != nil {
		panic(err)
	}
	return reply
}

// slice is one of the two slices in a meter's row "h".
type slice struct {
	period                   calendar.Period
	granted, spent, reserved int64
	epoch                    uint64 // of the meter
}

// slices decodes the slices of this period and of the previous one. In the meter's row, they follow the format, the
// status, the record, two times, the ticks, the day and its count.
func (o *simObject) slices() [2]slice {
	r := abi.Reader{Buf: o.Rows["h"]}
	if len(r.Buf) == 0 {
		return [2]slice{}
	}
	if version := r.Uint(); version < 5 || version > 8 {
		panic("the meter's row has a new format: update slices")
	}
	r.Uint()
	r.Bytes()
	r.Uint()
	r.Uint()
	for n := 2 * r.Count(); n > 0; n-- {
		r.Uint()
	}
	r.Uint()
	r.Uint()
	var both [2]slice
	for i := range both {
		both[i].period = calendar.Period(r.Uint())
		r.Bool()
		both[i].granted, both[i].spent, both[i].reserved = r.Int(), r.Int(), r.Int()
	}
	both[0].epoch = r.Uint()
	if r.Err() != nil {
		panic(r.Err())
	}
	return both
}

// ledgerState is the Ledger's state for the current period.
type ledgerState struct {
	period                 calendar.Period
	budget, committed, sum int64
	granted                map[string]int64
}

func (o *simObject) ledgerState() ledgerState {
	r := abi.Reader{Buf: o.Rows["b"]}
	if r.Uint() != 2 {
		panic("the budget's row has a new format: update ledgerState")
	}
	r.Uint()
	b := ledgerState{budget: r.Int(), period: calendar.Period(r.Uint()), committed: r.Int(), granted: map[string]int64{}}
	for _, key := range o.Keys("k/", "k0") {
		r := abi.Reader{Buf: o.Rows[key]}
		if r.Uint() != 2 {
			panic("a meter's row in the Ledger has a new format: update ledgerState")
		}
		period := calendar.Period(r.Uint())
		r.Bool()
		if granted, spent := r.Int(), r.Int(); period == b.period {
			b.sum += max(granted, spent)
			b.granted[key[2:]] = granted
		}
	}
	return b
}
