package sim_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// defect is a bug that a test injects into a world through hooks. The rules must detect it.
type defect struct {
	before   func(o *object, command []byte) (dropped bool)
	after    func(o *object, command, reply []byte) []byte
	delivery func(o *object, d *abi.Delivery) (lost bool)
	action   func(x *exchange, a *abi.Action) (dropped bool)
	place    func(key string) string
	truth    func(f *fetch)
	clock    func(i *isolate, ms uint64) uint64
}

// place returns the key under which memory and KV hold a value.
func (w *world) place(_ *exchange, key string) string {
	if w.defect.place != nil {
		return w.defect.place(key)
	}
	return key
}

func noDefect() defect { return defect{} }

// nth returns a function that returns true only on its n-th call.
func nth(n int) func() bool {
	return func() bool { n--; return n == 0 }
}

func isMeter(o *object, command []byte, kind uint64) bool {
	return o.class == abi.ClassKeyMeter && len(command) > 0 && op(command) == kind
}

var projectInKey = regexp.MustCompile(`prj_\d+`)

// injected is a bug to inject. It has the rule that must detect the bug, or a prefix of rules.
type injected struct {
	name, rule string
	make       func() defect
}

var defects = []injected{
	{"a settle is lost", "I13", func() defect {
		second := nth(2)
		return defect{before: func(o *object, command []byte) bool { return isMeter(o, command, opSettle) && second() }}
	}},
	{"a settle is booked twice", "I2", func() defect {
		second := nth(2)
		return defect{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opSettle) && second() {
				for _, again := range settledAgain(command) {
					o.run(again)
				}
			}
			return reply
		}}
	}},
	{"a meter admits over its limit", "I1", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if isMeter(o, command, opAdmit) {
				o.offset += secondMs
			}
			return false
		}}
	}},
	{"an outbox row is lost", "I2", func() defect {
		first := nth(1)
		return defect{delivery: func(o *object, d *abi.Delivery) bool {
			return d.Class == abi.ClassLedger && o.class == abi.ClassKeyMeter && first()
		}}
	}},
	{"the Ledger forgets what it has absorbed", "I2", func() defect {
		var before []abi.Row
		return defect{before: func(o *object, command []byte) bool {
			if o.class == abi.ClassLedger {
				before, _ = o.Read(abi.Range{Start: "k/", End: "k0", Limit: 1000})
				before = slices.Clone(before)
			}
			return false
		}, after: func(o *object, command, reply []byte) []byte {
			if o.class == abi.ClassLedger && len(reply) == 0 {
				for _, row := range before {
					o.put(row)
				}
			}
			return reply
		}}
	}},
	{"the cache crosses projects", "I5", func() defect {
		return defect{place: func(key string) string {
			if strings.HasPrefix(key, "cache/") {
				return projectInKey.ReplaceAllString(key, "")
			}
			return key
		}}
	}},
	{"a meter ignores a deactivation", "I4", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if !isMeter(o, command, opPut) {
				return false
			}
			status, _ := readPut(command)
			return status != doc.Active
		}}
	}},
	{"a late record overwrites a newer one", "I4", func() defect {
		return defect{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opPut) {
				if status, record := readPut(command); status == doc.Inactive {
					record.Version++
					o.run(putCommand(doc.Active, record))
				}
			}
			return reply
		}}
	}},
	{"an unauthorized target is called", "I8", func() defect {
		return defect{action: func(_ *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionFetch {
				a.URL = strings.Replace(a.URL, "p1.example", "p2.example", 1)
			}
			return false
		}}
	}},
	{"a secret is logged", "I7", func() defect {
		tenth := nth(10)
		return defect{action: func(_ *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionLog && tenth() {
				a.Data = append(a.Data, providerSecrets["p2"]...)
			}
			return false
		}}
	}},
	{"a reply never arrives", "I13", func() defect {
		fifth := nth(5)
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionCall || a.ID == 0 || !fifth() {
				return false
			}
			x.outstanding(a.ID)
			return true
		}}
	}},
	{"the Ledger refuses a grant within the budget", "I11 402", func() defect {
		return defect{after: func(o *object, command, reply []byte) []byte {
			if o.class == abi.ClassLedger && len(command) > 0 && op(command) == opGrant {
				return noGrant
			}
			return reply
		}}
	}},
	{"a call fails without an injected fault", "I11 503", func() defect {
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionCall || a.ID == 0 || a.Class != abi.ClassLedger {
				return false
			}
			o := x.outstanding(a.ID)
			x.w.after(1, func() { x.reply(o, abi.Event{Kind: abi.EventReply, ID: a.ID, Code: abi.OutcomeFailed}, true) })
			return true
		}}
	}},
	{"a booking is one picodollar too low", "I2", func() defect {
		return defect{truth: func(f *fetch) { f.skew = 1 }}
	}},
	{"an alarm is lost", "I", func() defect {
		return defect{before: func(o *object, command []byte) bool { return o.class == abi.ClassKeyMeter && len(command) == 0 }}
	}},
	{"two fetches run at once", "I13", func() defect {
		twice := false
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionFetch || twice {
				return false
			}
			twice = true
			again := *a
			again.ID += 900
			x.fetch(&again)
			twice = false
			return false
		}}
	}},
	{"an active key is rejected", "I11", func() defect {
		third := nth(3)
		return defect{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opAdmit) && third() {
				return []byte(unknownVerdict)
			}
			return reply
		}}
	}},
	{"withheld events are delivered", "I15", func() defect {
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if f := x.streaming(); f != nil && a.Kind == abi.ActionKeep && a.Buffer == withheldBuffer && !x.done {
				x.sent([]byte(f.last.data))
			}
			return false
		}}
	}},
	{"a response goes to another caller", "I5", func() defect {
		var last []byte
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionRespond && a.Code == 200 && x.request.completion {
				mine := x.join(a.Body)
				if last != nil {
					a.Body = []abi.Part{{Data: last}}
				}
				last = mine
			}
			return false
		}}
	}},
}

// maxTries is the number of worlds in which a defect must be detected.
const maxTries = 6000

// TestDefectsAreDetected checks that the rules detect every defect. They must do so in a world that passes without
// the defect.
func TestDefectsAreDetected(t *testing.T) {
	for _, d := range slices.Concat(defects, violationDefects, leaseDefects, idempotencyDefects) {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for seed := 1 + rareDefects[d.name]; seed <= maxTries; seed++ {
				f := run(generate(seed), d.make(), &stats{}, nil)
				if f == nil || !strings.HasPrefix(f.rule, d.rule) {
					continue
				}
				if run(generate(seed), noDefect(), &stats{}, nil) == nil {
					t.Logf("seed %d: %s: %s", seed, f.rule, f.text)
					return
				}
			}
			t.Errorf("not detected in %d worlds", maxTries)
		})
	}
}
