package host

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/object"
)

var errCommit = errors.New("commit failed")

// failingRows are the rows of an object whose next commit may fail. It records what the command wanted to write.
type failingRows struct {
	object.Memory
	fails bool
	puts  []abi.Row
}

func (r *failingRows) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	r.puts = puts
	if r.fails {
		return errCommit
	}
	return r.Memory.Commit(puts, deletes, alarmMs)
}

// meterScript generates commands of the meters of a few keys. Their budgets are large enough or too small, their paths
// change, and their clock sometimes goes back.
type meterScript struct {
	*rand.Rand
	now     uint64
	version uint64
	count   int
	reply   keymeter.AdmitReply // the last one
	admit   keymeter.Admit      // the last one
}

func (s *meterScript) id() string {
	if s.IntN(3) == 0 {
		s.count++
	}
	return fmt.Sprint("req_", s.count-s.IntN(6))
}

func (s *meterScript) next() []byte {
	s.now += uint64(s.IntN(400))
	switch s.IntN(60) {
	case 0:
		s.now -= uint64(s.IntN(5000))
	case 1:
		s.now += uint64(s.IntN(int(calendar.HourMs)))
	}
	switch n := s.IntN(100); {
	case n < 3:
		return s.put()
	case n < 6:
		return (&keymeter.Flush{Recall: n == 3, Ledger: []string{"", "", "root"}[n-3]}).Encode()
	case n < 9:
		return nil
	case n < 10:
		return (&keymeter.Restart{}).Encode()
	case n < 15:
		return (&keymeter.Extend{RequestID: s.id(), TotalPico: money.Cost(uint64(s.IntN(3)), money.Dollar)}).Encode()
	case n < 25:
		return s.report()
	case n < 55:
		return s.settle()
	}
	return s.admission()
}

func (s *meterScript) put() []byte {
	s.version++
	record := doc.Record{Version: s.version, KeyID: "key_1", ProjectID: testProject, Kind: keys.Gateway, Environment: keys.Production}
	record.Plan = []string{"free", "unlimited", "developer"}[s.IntN(3)]
	if s.IntN(2) == 0 {
		record.Path, record.Chain = s.version, []doc.Node{{ID: "root", Soft: s.IntN(4) == 0}, {ID: fmt.Sprint("grp_", s.IntN(2)), Unit: doc.Unit(s.IntN(3))}}
	}
	record.Own.Budgeted = s.IntN(3) == 0
	record.Own.BudgetPico = 100 * money.Dollar
	return (&keymeter.Put{Status: doc.Active, Record: record}).Encode()
}

func (s *meterScript) admission() []byte {
	a := keymeter.Admit{
		RequestID: s.id(), Version: s.version - uint64(s.IntN(20)/19), Mode: keymeter.Mode(1 + s.IntN(4)), Model: "m", AmountPico: money.Dollar / 10,
		LifetimeMs: 3000, LeaseID: uint64(s.IntN(4)), Trace: keymeter.Trace{Provider: "p", Status: 200, DurationMs: uint64(s.IntN(50))},
	}
	if s.IntN(2) == 0 {
		a.Mode = keymeter.ModeReserve
	}
	if s.IntN(3) == 0 {
		a.Idempotency, a.BodyHash = fmt.Sprint("idem", s.IntN(9)), "b"
	}
	if s.IntN(20) == 0 {
		a.Violations = []ledger.Violation{{Rule: fmt.Sprint("rule", s.IntN(40)), Decision: "block"}}
	}
	if s.reply.Verdict == keymeter.Short {
		a = s.granted()
	}
	s.admit = a
	return a.Encode()
}

// granted repeats the last admission with the grants that its reply asked for.
func (s *meterScript) granted() keymeter.Admit {
	a, r := s.admit, s.reply
	if r.Epoch != 0 {
		a.Grant = keymeter.Grant{Period: r.Period, Epoch: r.Epoch, TotalPico: r.HeldPico + money.Cost(uint64(s.IntN(3)), 10*money.Dollar)}
	}
	a.Tree.Ordered = s.IntN(3) == 0
	for _, l := range r.Levels {
		g := keymeter.Grant{Period: l.Period, Epoch: l.Epoch, TotalPico: l.HeldPico + int64(s.IntN(3))*10*money.Dollar}
		a.Tree.Grants = append(a.Tree.Grants, keymeter.LevelGrant{Ledger: l.Ledger, Grant: g, Final: s.IntN(4) == 0})
	}
	return a
}

func (s *meterScript) settle() []byte {
	c := keymeter.Settle{
		RequestID: s.id(), Outcome: keymeter.Outcome(1 + s.IntN(4)), Model: fmt.Sprint("m", s.IntN(3)), Tokens: keymeter.Tokens{Prompt: 5, Completion: 6},
		CostPico: money.Dollar / 20, Trace: keymeter.Trace{Provider: "p", Agent: "a", Status: 200, DurationMs: 7, FirstMs: uint64(s.IntN(3))},
	}
	if s.IntN(3) == 0 {
		c.Idempotency, c.Answer = fmt.Sprint("idem", s.IntN(9)), []byte("answer")
	}
	if s.IntN(9) == 0 {
		c.Attempts, c.PromptCache = []keymeter.Charge{{Model: "n", CostPico: 3}}, ledger.PromptCache{Read: 4}
	}
	return c.Encode()
}

func (s *meterScript) report() []byte {
	r := keymeter.Report{SentMs: s.now, LeaseID: uint64(1 + s.IntN(3)), Seq: uint64(s.count), Close: s.IntN(5) == 0, Renew: s.IntN(2) == 0, AmountPico: money.Dollar / 10}
	for range s.IntN(3) {
		s.count++
		q := keymeter.Leased{RequestID: fmt.Sprint("req_", s.count), AdmittedMs: s.now - uint64(s.IntN(900)), AmountPico: money.Dollar / 10, LifetimeMs: 3000, Model: "m"}
		if s.IntN(2) == 0 {
			settle := keymeter.Settle{RequestID: q.RequestID, Outcome: keymeter.Served, Model: "m", CostPico: money.Dollar / 20}
			q.Settle = settle.Encode()
		}
		r.Requests = append(r.Requests, q)
	}
	return r.Encode()
}

// keptWorld runs the same commands twice: on two replicas with native engines, which keep meters decoded and use the
// same rows in turn, and on an engine that decodes and encodes everything.
type keptWorld struct {
	*testing.T
	*meterScript
	replicas [2]Engine
	coded    Engine
	rows     [2]map[string]*failingRows // of the replicas and of the engine coded, by key
	backups  [2]map[string][]byte
}

func TestKeptMeters(t *testing.T) {
	steps := 3000
	if testing.Short() {
		steps = 500
	}
	for seed := range uint64(4) {
		w := &keptWorld{T: t, meterScript: &meterScript{Rand: rand.New(rand.NewPCG(seed, 1)), now: 1_795_262_400_000}, coded: struct{ Engine }{newNative(t)}}
		if seed == 0 {
			w.coded = newWasm(t)
		}
		w.replicas = [2]Engine{newNative(t), newNative(t)}
		w.rows = [2]map[string]*failingRows{{}, {}}
		for range steps {
			w.step(fmt.Sprint("key ", w.IntN(3)))
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		if kept := w.replicas[0].(*native).decoded.order.Len(); kept == 0 && seed > 0 {
			t.Error("nothing was kept")
		}
	}
}

func (w *keptWorld) step(key string) {
	for i := range w.rows {
		if w.rows[i][key] == nil {
			w.rows[i][key] = &failingRows{}
		}
	}
	kept, coded := w.rows[0][key], w.rows[1][key]
	kept.fails = w.IntN(15) == 0
	coded.fails = kept.fails
	switch w.IntN(200) {
	case 0:
		w.replicas[0] = newNative(w.T)
	case 1, 2:
		w.backups = [2]map[string][]byte{maps.Clone(kept.Rows), maps.Clone(coded.Rows)}
	case 3, 4:
		if w.backups[0] != nil {
			kept.Memory, coded.Memory = object.Memory{Rows: maps.Clone(w.backups[0])}, object.Memory{Rows: maps.Clone(w.backups[1])}
		}
	}
	in := abi.ObjectInput{NowMs: w.now, Class: abi.ClassKeyMeter, Name: key, Command: w.next()}
	replica := w.replicas[w.IntN(10)/8]
	got, err := runObject(replica, kept, in)
	want, wantErr := runObject(w.coded, coded, in)
	w.compare(in.Command, kept, coded, &got, &want)
	if (err == nil) != (wantErr == nil) {
		w.Errorf("command %x: %v, want %v", in.Command, err, wantErr)
	}
	w.reply, _ = keymeter.DecodeAdmitReply(got.Reply)
}

func (w *keptWorld) compare(command []byte, kept, coded *failingRows, got, want *abi.ObjectOutput) {
	w.Helper()
	var a, b abi.Writer
	got.Encode(&a)
	if want.Encode(&b); !bytes.Equal(a.Buf, b.Buf) {
		w.Errorf("command %x: %+v, want %+v", command, got, want)
	}
	if fmt.Sprint(kept.puts) != fmt.Sprint(coded.puts) {
		w.Errorf("command %x puts %v, want %v", command, kept.puts, coded.puts)
	}
	if !maps.EqualFunc(kept.Rows, coded.Rows, bytes.Equal) || kept.AlarmMs != coded.AlarmMs {
		w.Errorf("command %x: rows %v, want %v", command, kept.Rows, coded.Rows)
	}
}
