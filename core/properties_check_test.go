package core_test

import (
	"bytes"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// check verifies the invariants after every action.
func (m *model) check(t *rapid.T) {
	m.t = t
	b := m.object(abi.ClassLedger, project).ledgerState()
	if b.budget != m.budget() {
		t.Fatalf("I10: got a budget of %d, want %d", b.budget, m.budget())
	}
	if b.committed != b.sum || b.committed > b.budget {
		t.Fatalf("I3: slices and spend are %d, recorded as %d, of a budget of %d", b.sum, b.committed, b.budget)
	}
	if period := m.period(); !m.jumps && m.used(period) > m.budget() {
		t.Fatalf("I3: %d used or reserved of %d", m.used(period), m.budget())
	}
	for _, k := range m.keys {
		m.checkMeter(k, b)
	}
}

func (m *model) checkMeter(k *key, b ledgerState) {
	o := m.object(abi.ClassKeyMeter, k.name)
	for _, s := range o.slices() {
		var reserved int64
		for _, x := range m.exchanges {
			if x.key == k && x.phase == phaseReserved && x.period == s.period {
				reserved += x.admit.AmountPico
			}
		}
		if s.period != 0 && s.reserved != reserved {
			m.t.Fatalf("I6: %s has %d reserved in period %d, but open reservations of %d", k.name, s.reserved, s.period, reserved)
		}
		if s.granted < s.spent+s.reserved || s.reserved < 0 {
			m.t.Fatalf("I3: %s has spent %d and reserved %d of a slice of %d", k.name, s.spent, s.reserved, s.granted)
		}
		if granted := b.granted[k.name]; s.period == b.period && s.granted > granted {
			m.t.Fatalf("I3: %s has a slice of %d, but the Ledger granted %d", k.name, s.granted, granted)
		}
	}
	for _, x := range m.exchanges {
		if x.key == k && x.phase == phaseReserved && (o.AlarmMs == 0 || o.AlarmMs > x.expiresMs) {
			m.t.Fatalf("I6: %s expires at %d, but the alarm is set to %d", x.admit.RequestID, x.expiresMs, o.AlarmMs)
		}
	}
	m.checkRecord(k)
}

// checkRecord checks I10: the meter has the newest record, regardless of the order in which records arrived.
func (m *model) checkRecord(k *key) {
	reply := m.admit(k.name, keymeter.Admit{RequestID: "req_check", Mode: keymeter.ModeCheck})
	want := k.newest()
	if k.active() != (reply.Verdict == keymeter.Stale) {
		m.t.Fatalf("I10: got verdict %[2]d for status %[1]d", want.Status, reply.Verdict)
	}
	if k.active() && !bytes.Equal(reply.Record, want.Record.Encode()) {
		m.t.Fatalf("I10: got the record %x, want %x", reply.Record, want.Record.Encode())
	}
}

// final lets all alarms and deliveries finish and checks I2.
func (m *model) final() {
	m.fireAlarms()
	m.runToEnd(m.meterNames(), func(meter string) {
		for _, k := range m.keys {
			if k.name == meter {
				m.recordExpiries(k)
			}
		}
	})
	for _, k := range m.keys {
		if n := m.reservedOn(k); n > 0 || m.flush(k.name, false).Open > 0 {
			m.t.Fatalf("I6: %s still has %d reservations", k.name, n)
		}
		m.deliverFlush(m.flush(k.name, false).Absorbs)
		for m.deliver(abi.ClassKeyMeter, k.name, false) {
		}
		if rows := m.object(abi.ClassKeyMeter, k.name).Keys("", "~"); len(rows) > 1 {
			m.t.Fatalf("%s still has the rows %q", k.name, rows)
		}
	}
	m.compareUsage()
}

// compareUsage compares the Ledger's usage with the model's, day by day.
func (m *model) compareUsage() {
	for day := uint64(firstDay); day <= m.clockMs/dayMs; day++ {
		reply := m.report(project, ledger.Report{FirstDay: day, EndDay: day + 1, Final: true})
		got := map[string]ledger.Usage{}
		for _, u := range reply.Models {
			got[u.Model] = u
		}
		for _, name := range []string{"a", "b", "c"} {
			want := *m.usageOf(day, name)
			want.Day, want.Model = got[name].Day, got[name].Model
			if got[name] != want {
				m.t.Fatalf("I2: usage of %s on day %d: got\n%+v, want\n%+v", name, day-firstDay, got[name], want)
			}
		}
		m.compareSums(day)
	}
}

// compareSums compares a day's usage grouped by hour, key and detail with the usage grouped by model.
func (m *model) compareSums(day uint64) {
	want := m.sum(ledger.Query{FirstDay: day, EndDay: day + 1, By: ledger.ByModel})
	for _, by := range []ledger.Grouping{ledger.ByDay, ledger.ByHour, ledger.ByKey, ledger.ByDetail} {
		got := m.sum(ledger.Query{FirstDay: day, EndDay: day + 1, By: by})
		if by == ledger.ByHour {
			got.Latency = want.Latency // the rows for ten-minute intervals have sketches instead
		}
		if got != want {
			m.t.Fatalf("I2: usage on day %d grouped by %d: got\n%+v, want as by model\n%+v", day-firstDay, by, got, want)
		}
	}
	want.Latency = ledger.Latency{}
	for _, by := range []ledger.ActivityBy{ledger.ActivityByStep, ledger.ActivityByMinute, ledger.ActivityByModel, ledger.ActivityByKey} {
		q := ledger.ActivityQuery{First: day * ledger.DaySpans, End: (day + 1) * ledger.DaySpans, By: by, Step: 1}
		reply, err := ledger.DecodeActivityReply(m.call(abi.ClassLedger, project, q.Encode()))
		if err != nil || reply.Next != "" {
			m.t.Fatalf("%v, next %q", err, reply.Next)
		}
		var got ledger.Usage
		for i := range reply.Groups {
			got.Plus(&reply.Groups[i].Usage)
		}
		if got.Ends = want.Ends; got != want {
			m.t.Fatalf("I2: activity on day %d grouped by %d: got\n%+v, want\n%+v", day-firstDay, by, got, want)
		}
	}
}

func (m *model) sum(q ledger.Query) (sum ledger.Usage) {
	reply, err := ledger.DecodeQueryReply(m.call(abi.ClassLedger, project, q.Encode()))
	if err != nil || reply.Next != "" {
		m.t.Fatal(err, reply.Next)
	}
	for i := range reply.Groups {
		sum.Plus(&reply.Groups[i].Usage)
	}
	return sum
}
