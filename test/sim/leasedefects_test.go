package sim_test

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// leasesOf returns the leases in a meter's row.
func leasesOf(o *object) []keymeter.LeaseState {
	row, ok := o.find("h")
	if !ok {
		return nil
	}
	leases, _, _ := keymeter.StateOf(o.rows[row].Value)
	return leases
}

// closeLeases makes a meter forget leases that isolates still use.
func closeLeases(o *object) {
	for _, l := range leasesOf(o) {
		closing := keymeter.Report{LeaseID: l.ID, Close: true}
		o.run(closing.Encode())
	}
}

func changedReport(change func(r *keymeter.Report)) func(*exchange, *abi.Action) bool {
	return func(_ *exchange, a *abi.Action) bool {
		if a.Kind == abi.ActionCall && a.Class == abi.ClassKeyMeter && op(a.Data) == opReport {
			r := keymeter.Open(a.Data).(*keymeter.Report)
			change(r)
			a.Data = r.Encode()
		}
		return false
	}
}

// rareDefects are the defects that the first worlds do not detect. Each has the number of these worlds.
var rareDefects = map[string]uint64{
	"a lost lease returns instead of being booked":            130,
	"a report says that its requests are older than they are": 5290,
	"a lease outlives a jump back of its isolate's clock":     1130,
}

// leaseDefects are bugs that concern leases.
var leaseDefects = []injected{
	{"a change is acknowledged while a lease contradicts it", "I4", func() defect {
		return defect{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opPut) {
				return nil
			}
			return reply
		}}
	}},
	{"a meter forgets leases", "I", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if isMeter(o, command, opAdmit) {
				closeLeases(o)
			}
			return false
		}}
	}},
	{"a lost lease returns instead of being booked", "I", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if o.class == abi.ClassKeyMeter && len(command) == 0 {
				for _, l := range leasesOf(o) {
					if l.EndMs+minuteMs < o.clock() {
						closeLeases(o)
					}
				}
			}
			return false
		}}
	}},
	{"a report counts twice", "I", func() defect {
		return defect{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opReport) {
				r := keymeter.Open(command).(*keymeter.Report)
				r.Seq++
				r.Close, r.Renew = false, false
				o.run(r.Encode())
			}
			return reply
		}}
	}},
	{"a report loses a request", "I", func() defect {
		fifth := nth(5)
		return defect{action: changedReport(func(r *keymeter.Report) {
			if len(r.Requests) > 0 && fifth() {
				r.Requests = r.Requests[1:]
			}
		})}
	}},
	{"a report loses a settlement", "I", func() defect {
		second := nth(2)
		return defect{action: changedReport(func(r *keymeter.Report) {
			if len(r.Settles) > 0 && second() {
				r.Settles = r.Settles[1:]
			}
		})}
	}},
	{"a report says that its requests are older than they are", "I1", func() defect {
		return defect{action: changedReport(func(r *keymeter.Report) { r.SentMs += secondMs })}
	}},
	{"a lease outlives a jump back of its isolate's clock", "I", func() defect {
		latest := map[*isolate]uint64{}
		return defect{clock: func(i *isolate, ms uint64) uint64 {
			latest[i] = max(latest[i], ms)
			return latest[i]
		}}
	}},
	{"a lease lasts longer in the isolate", "I", func() defect {
		return defect{after: func(o *object, command, reply []byte) []byte {
			if r, err := keymeter.DecodeReportReply(reply); isMeter(o, command, opReport) && err == nil && r.Lease.DurationMs > 0 {
				r.Lease.DurationMs += 2000
				return r.Encode()
			}
			return reply
		}}
	}},
}
