package sim_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// breaks are defects that a test puts into a world, to see that the rules notice.
type breaks struct {
	before   func(o *object, command []byte) (dropped bool)
	after    func(o *object, command, reply []byte) []byte
	delivery func(o *object, d *abi.Delivery) (lost bool)
	action   func(x *exchange, a *abi.Action) (dropped bool)
	place    func(key string) string
	truth    func(f *fetch)
}

// place is where a value stands in memory and KV.
func (w *world) place(_ *exchange, key string) string {
	if w.breaks.place != nil {
		return w.breaks.place(key)
	}
	return key
}

func sound() breaks { return breaks{} }

// nth is true the n-th time that it is asked.
func nth(n int) func() bool {
	return func() bool { n--; return n == 0 }
}

func isMeter(o *object, command []byte, kind uint64) bool {
	return o.class == abi.ClassKeyMeter && len(command) > 0 && op(command) == kind
}

var projectInKey = regexp.MustCompile(`prj_\d+`)

// defects are worlds with one defect each, and a rule that must be seen to break.
var defects = []struct {
	name, rule string
	make       func() breaks
}{
	{"a settle is lost", "I13", func() breaks {
		second := nth(2)
		return breaks{before: func(o *object, command []byte) bool { return isMeter(o, command, opSettle) && second() }}
	}},
	{"a settle is booked twice", "I2", func() breaks {
		second := nth(2)
		return breaks{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opSettle) && second() {
				for _, again := range settledAgain(command) {
					o.run(again)
				}
			}
			return reply
		}}
	}},
	{"a meter admits over its limit", "I1", func() breaks {
		return breaks{before: func(o *object, command []byte) bool {
			if isMeter(o, command, opAdmit) {
				o.offset += secondMs
			}
			return false
		}}
	}},
	{"an outbox row is lost", "I2", func() breaks {
		first := nth(1)
		return breaks{delivery: func(o *object, d *abi.Delivery) bool {
			return d.Class == abi.ClassLedger && o.class == abi.ClassKeyMeter && first()
		}}
	}},
	{"the Ledger forgets what it has absorbed", "I2", func() breaks {
		var before []abi.Row
		return breaks{before: func(o *object, command []byte) bool {
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
	{"the cache crosses projects", "I5", func() breaks {
		return breaks{place: func(key string) string {
			if strings.HasPrefix(key, "cache/") {
				return projectInKey.ReplaceAllString(key, "")
			}
			return key
		}}
	}},
	{"a meter does not take a deactivation", "I4", func() breaks {
		return breaks{before: func(o *object, command []byte) bool {
			if !isMeter(o, command, opPut) {
				return false
			}
			status, _ := readPut(command)
			return status != doc.Active
		}}
	}},
	{"a late record overwrites a newer one", "I4", func() breaks {
		return breaks{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opPut) {
				if status, record := readPut(command); status == doc.Inactive {
					record.Version++
					o.run(putCommand(doc.Active, record))
				}
			}
			return reply
		}}
	}},
	{"another target is asked than was authorised", "I8", func() breaks {
		return breaks{action: func(_ *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionFetch {
				a.URL = strings.Replace(a.URL, "p1.example", "p2.example", 1)
			}
			return false
		}}
	}},
	{"a secret is logged", "I7", func() breaks {
		tenth := nth(10)
		return breaks{action: func(_ *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionLog && tenth() {
				a.Data = append(a.Data, providerSecrets["p2"]...)
			}
			return false
		}}
	}},
	{"a reply never comes", "I13", func() breaks {
		fifth := nth(5)
		return breaks{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionCall || a.ID == 0 || !fifth() {
				return false
			}
			x.outstanding(a.ID)
			return true
		}}
	}},
	{"the Ledger refuses what it has", "I11 402", func() breaks {
		return breaks{after: func(o *object, command, reply []byte) []byte {
			if o.class == abi.ClassLedger && len(command) > 0 && op(command) == opGrant {
				return noGrant
			}
			return reply
		}}
	}},
	{"a call fails, and no part was made to fail", "I11 503", func() breaks {
		return breaks{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionCall || a.ID == 0 || a.Class != abi.ClassLedger {
				return false
			}
			o := x.outstanding(a.ID)
			x.w.after(1, func() { x.answered(o, abi.Event{Kind: abi.EventReply, ID: a.ID, Code: abi.OutcomeFailed}, true) })
			return true
		}}
	}},
	{"a picodollar too few is booked", "I2", func() breaks {
		return breaks{truth: func(f *fetch) { f.skew = 1 }}
	}},
	{"an alarm is lost", "I", func() breaks {
		return breaks{before: func(o *object, command []byte) bool { return o.class == abi.ClassKeyMeter && len(command) == 0 }}
	}},
	{"an answer is fetched twice at once", "I13", func() breaks {
		twice := false
		return breaks{action: func(x *exchange, a *abi.Action) bool {
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
	{"an active key is refused", "I11", func() breaks {
		third := nth(3)
		return breaks{after: func(o *object, command, reply []byte) []byte {
			if isMeter(o, command, opAdmit) && third() {
				return []byte(unknownVerdict)
			}
			return reply
		}}
	}},
	{"an isolate's answer goes to another caller", "I5", func() breaks {
		var last []byte
		return breaks{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind == abi.ActionRespond && a.Code == 200 && x.asks.completion {
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

// maxTries is how many worlds may pass until a defect is noticed.
const maxTries = 2000

// TestDefectsAreNoticed: the rules see every defect that is put into a world which is sound without it.
func TestDefectsAreNoticed(t *testing.T) {
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= maxTries; seed++ {
				f := run(generate(seed), d.make(), &stats{}, nil)
				if f == nil || !strings.HasPrefix(f.rule, d.rule) {
					continue
				}
				if run(generate(seed), sound(), &stats{}, nil) == nil {
					t.Logf("seed %d: %s: %s", seed, f.rule, f.text)
					return
				}
			}
			t.Errorf("not noticed by %d worlds", maxTries)
		})
	}
}
