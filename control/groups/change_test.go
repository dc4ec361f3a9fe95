package groups_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// stored returns the document of a group.
func stored(b *controltest.Bench, id string) directory.Group {
	b.Helper()
	g, err := directory.DecodeGroup(b.Document(doc.GroupKey(id)))
	if err != nil {
		b.Fatal(err)
	}
	return g
}

// isApplied checks whether all projects below a group have its last change.
func isApplied(b *controltest.Bench, id string, want bool) {
	b.Helper()
	if g := stored(b, id); (g.Applied == g.Revision) != want {
		b.Errorf("%s has revision %d, of which %d is applied", id, g.Revision, g.Applied)
	}
}

func TestChangeReachesAllProjectsBelow(t *testing.T) {
	b := bench(t)
	department := group(b, "")
	team := group(b, `,"parent":"`+department+`"`)
	_, inTeam := member(b, team)
	_, inDepartment := member(b, department)
	_, outside := member(b, "null")
	for _, c := range []struct {
		path, body                  string
		team, department, elsewhere []string
	}{
		{department, `{"budget":3}`, []string{department}, []string{department}, nil},
		{team, `{"budget":2}`, []string{department, team}, []string{department}, nil},
		{department, `{"enforce":"soft"}`, []string{team}, nil, nil},
		{"root", `{"budget":9}`, []string{"root", team}, []string{"root"}, []string{"root"}},
		{department, `{"enforce":"hard","budgetPeriod":"day"}`, []string{"root", department, team}, []string{"root", department}, []string{"root"}},
		{"root", `{"budget":null}`, []string{department, team}, []string{department}, nil},
		{team, `{"name":"Vision"}`, []string{department, team}, []string{department}, nil},
	} {
		b.Must(200, "PATCH", groupsPath+"/"+c.path, c.body)
		check(b, inTeam, c.team...)
		check(b, inDepartment, c.department...)
		check(b, outside, c.elsewhere...)
		isApplied(b, c.path, true)
	}
	chain := b.RecordOf(inTeam).Chain
	if n := chain[0]; n.Cycle != calendar.Daily || n.Epoch != 1 || chain[1].Name != "Vision" {
		t.Errorf("%+v", chain)
	}
}

// A change of a group is not one of its projects, so nobody's edit of a project becomes outdated.
func TestChangeKeepsTheVersionOfProjects(t *testing.T) {
	b := bench(t)
	id := group(b, "")
	project, _ := member(b, id)
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":3,"version":1}`)
	b.Must(200, "PATCH", project, `{"name":"New","version":1}`)
	b.Refused(b.Do("PATCH", groupsPath+"/"+id, `{"budget":4,"version":1}`), fault.Conflict)
	if got := b.Must(200, "PATCH", groupsPath+"/"+id, `{"version":2}`); !strings.Contains(got.Body.String(), `"budget":3,`) || fmt.Sprint(got.Fields["version"]) != "3" {
		t.Error(got.Body)
	}
}

// sentTo returns the indexes of the calls to a Ledger and of the first that gives a meter a chain with it.
func sentTo(b *controltest.Bench, id string) (put, chained int) {
	put, chained = -1, -1
	for i, s := range b.Memory.Sent {
		if s.Class == abi.ClassLedger && s.Name == id && put < 0 {
			put = i
		}
		if s.Class == abi.ClassKeyMeter && strings.Contains(string(s.Command), id) && chained < 0 {
			chained = i
		}
	}
	return put, chained
}

// A Ledger has its budget before a meter has it in its chain, whether the budget is new or the project is.
func TestLedgerHasTheBudgetFirst(t *testing.T) {
	b := bench(t)
	id := group(b, "")
	project, _ := member(b, id)
	b.Memory.Sent = nil
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":3}`)
	if put, chained := sentTo(b, id); put < 0 || chained < put {
		t.Errorf("new budget: the Ledger has it at %d, a meter at %d", put, chained)
	}
	b.Must(200, "PATCH", project, `{"group":null}`)
	b.Memory.Sent = nil
	b.Must(200, "PATCH", project, `{"group":"`+id+`"}`)
	if put, chained := sentTo(b, id); put < 0 || chained < put {
		t.Errorf("new project: the Ledger has the budget at %d, a meter at %d", put, chained)
	}
	b.Memory.Sent = nil
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":null}`)
	last := slices.IndexFunc(b.Memory.Sent, func(s controltest.Sent) bool { return s.Class == abi.ClassKeyMeter })
	if put, _ := sentTo(b, id); last < 0 || put < last {
		t.Errorf("removed budget: the Ledger learns it at %d, a meter at %d", put, last)
	}
}

// If the Ledger does not get the budget, no meter asks it for any.
func TestNoChainWithoutTheLedger(t *testing.T) {
	controltest.Quiet(t)
	b := bench(t)
	id := group(b, "")
	_, key := member(b, id)
	b.Memory.Fail = func(class abi.Class, name string, _ []byte) error {
		if class == abi.ClassLedger && name == id {
			return controltest.ErrOut
		}
		return nil
	}
	b.Refused(b.Do("PATCH", groupsPath+"/"+id, `{"budget":3}`), fault.Unavailable)
	check(b, key)
	isApplied(b, id, false)
	b.Memory.Fail = nil
	if err := b.Hourly(); err != nil {
		t.Fatal(err)
	}
	check(b, key, id)
	isApplied(b, id, true)
}

// Wherever the control plane stops, the hourly job finishes the change, and so does the same request.
func TestUnfinishedChangeIsFinished(t *testing.T) {
	controltest.Quiet(t)
	for _, body := range []string{`{"budget":1}`, `{"budget":null}`, `{"enforce":"soft"}`} {
		for stop, finished := 1, false; !finished; stop++ {
			b := bench(t)
			id := group(b, `,"budget":5`)
			var made []controltest.Reply
			for range 3 {
				_, key := member(b, id)
				made = append(made, key)
			}
			calls := 0
			b.Memory.Fail = func(abi.Class, string, []byte) error {
				if calls++; calls > stop {
					return controltest.ErrOut
				}
				return nil
			}
			finished = b.Do("PATCH", groupsPath+"/"+id, body).Code == 200
			b.Memory.Fail = nil
			if g := stored(b, id); g.Revision == 0 {
				continue // not committed
			}
			if stop%2 == 0 {
				b.Must(200, "PATCH", groupsPath+"/"+id, body)
			} else if err := b.Hourly(); err != nil {
				t.Fatal(err)
			}
			isApplied(b, id, true)
			for _, key := range made {
				if body == `{"budget":1}` {
					check(b, key, id)
				} else {
					check(b, key)
				}
			}
			if stop > 500 {
				t.Fatal("never finished")
			}
		}
	}
}

// The hourly job finishes a change even if no run has the time for all projects.
func TestRunsMakeProgress(t *testing.T) {
	controltest.Quiet(t)
	b := bench(t)
	id := group(b, "")
	var made []controltest.Reply
	for range 10 {
		_, key := member(b, id)
		made = append(made, key)
	}
	if err := b.Hourly(); err != nil { // the other work of the day
		t.Fatal(err)
	}
	limit := func(n int) {
		b.Memory.Fail = func(abi.Class, string, []byte) error {
			if n--; n < 0 {
				return controltest.ErrOut
			}
			return nil
		}
	}
	limit(3) // the group's commit and its Ledger
	b.Refused(b.Do("PATCH", groupsPath+"/"+id, `{"budget":5}`), fault.Unavailable)
	b.Memory.Fail = nil
	runs := 0
	for ; stored(b, id).Applied < stored(b, id).Revision; runs++ {
		for b.Memory.Ring(t) { // the Directory delivers to keys
		}
		limit(40)
		if err := b.Hourly(); err != nil && runs > 10 {
			t.Fatal(err)
		}
		b.Memory.Fail = nil
	}
	for _, key := range made {
		check(b, key, id)
	}
	if runs < 2 {
		t.Errorf("finished in %d runs", runs)
	}
}

// The hourly job has nothing to do without unfinished changes.
func TestFinishedChangesStay(t *testing.T) {
	b := bench(t)
	id := group(b, `,"budget":5`)
	member(b, id)
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":6}`)
	b.Must(200, "PATCH", rootPath, `{"budget":6}`)
	before := stored(b, id).Version
	for range 2 { // the first run prunes old usage, once a day
		b.Memory.Sent = nil
		if err := b.Hourly(); err != nil {
			t.Fatal(err)
		}
	}
	if put, chained := sentTo(b, id); put >= 0 || chained >= 0 || stored(b, id).Version != before {
		t.Error("a finished change was made again")
	}
}

// A project that enters a group while the group changes has the changed chain, whichever of them commits first.
func TestProjectEntersDuringAChange(t *testing.T) {
	for _, body := range []string{`{"budget":null}`, `{"budget":7}`, `{"name":"Other"}`} {
		for _, first := range []string{"the group", "the project"} {
			b := bench(t)
			id := group(b, `,"budget":5`)
			project, key := member(b, "null")
			enter := func() { b.Must(200, "PATCH", project, `{"group":"`+id+`"}`) }
			change := func() { b.Must(200, "PATCH", groupsPath+"/"+id, body) }
			if first == "the group" {
				b.Interleave(change)
				enter()
			} else {
				b.Interleave(enter)
				change()
			}
			g, chain := stored(b, id), b.RecordOf(key).Chain
			if g.Stops() && !reflect.DeepEqual(chain, g.Nodes()) || !g.Stops() && len(chain) > 0 {
				t.Errorf("%s, %s commits first: %+v", body, first, chain)
			}
		}
	}
}

// The end of a change does not hide that a later change is complete.
func TestChangeDuringAChange(t *testing.T) {
	b := bench(t)
	id := group(b, "")
	_, key := member(b, id)
	commits := 0
	b.Memory.Before = func(command []byte) {
		if command[0] != 2 {
			return
		}
		if commits++; commits == 3 { // the group's, the project's, and now the end
			b.Must(200, "PATCH", groupsPath+"/"+id, `{"name":"Later"}`)
		}
	}
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":3}`)
	isApplied(b, id, true)
	if chain := b.RecordOf(key).Chain; len(chain) != 1 || chain[0].Name != "Later" || commits < 4 {
		t.Errorf("%+v after %d commits", chain, commits)
	}
}

// The Ledger gets a budget that stops nothing after all meters have stopped asking it.
func TestSoftBudgetIsDeliveredLast(t *testing.T) {
	b := bench(t)
	id := group(b, `,"budget":5`)
	member(b, id)
	b.Memory.Sent = nil
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":2,"enforce":"soft"}`)
	g := stored(b, id)
	put := directory.BudgetsTo(&g, b.Memory.NowMs())[0]
	for i, s := range b.Memory.Sent {
		if last := i == len(b.Memory.Sent)-1; (s.Name == id) != last || last && !slices.Equal(s.Command, put.Data) {
			t.Errorf("call %d of %d: %+v", i+1, len(b.Memory.Sent), s)
		}
	}
}

// A project that is created while the deployment gets its first budget has it.
func TestProjectAppearsDuringAChangeOfTheRoot(t *testing.T) {
	b := bench(t)
	b.Interleave(func() { b.Must(200, "PATCH", rootPath, `{"budget":5}`) })
	_, key := member(b, "null")
	check(b, key, "root")
}

// A group cannot be deleted while a project or a group enters it.
func TestDeleteDuringAnEntry(t *testing.T) {
	b := bench(t)
	id := group(b, "")
	project, _ := member(b, "null")
	b.Interleave(func() { b.Must(200, "PATCH", project, `{"group":"`+id+`"}`) })
	b.Refused(b.Do("DELETE", groupsPath+"/"+id, ""), fault.Conflict)
	b.Must(200, "PATCH", project, `{"group":null}`)
	b.Interleave(func() { b.Must(204, "DELETE", groupsPath+"/"+id, "") })
	got := b.Do("PATCH", project, `{"group":"`+id+`"}`)
	if b.Refused(got, fault.InvalidRequest); !reflect.DeepEqual(got.Problems(), []string{"group"}) {
		t.Error(got.Body)
	}
	above := group(b, "")
	b.Interleave(func() { group(b, `,"parent":"`+above+`"`) })
	b.Refused(b.Do("DELETE", groupsPath+"/"+above, ""), fault.Conflict)
}

// use makes a key's meter hold slices of 5 dollars: 2 for a request in progress, 1 spent, and 2 unused.
func use(b *controltest.Bench, project string, key controltest.Reply) {
	b.Helper()
	reserve(b, project, key, "req_1", 2*money.Dollar)
	reserve(b, project, key, "req_2", 3*money.Dollar)
	b.Settle(key.Text("value"), "req_2", money.Dollar)
}

// reserve admits a request at its meter, with a grant from each Ledger that lacks budget.
func reserve(b *controltest.Bench, project string, key controltest.Reply, id string, cost money.Pico) {
	b.Helper()
	hash := keys.Hash(key.Text("value"))
	admit := keymeter.Admit{RequestID: id, Version: 1 << 40, Mode: keymeter.ModeReserve, Model: "m", AmountPico: cost, LifetimeMs: 60_000}
	for range 2 {
		reply, err := keymeter.DecodeAdmitReply(b.Ask(abi.ClassKeyMeter, hash, admit.Encode()))
		if err != nil {
			b.Fatal(err)
		}
		if reply.Verdict == keymeter.Admitted {
			return
		}
		for i, s := range reply.Levels {
			name := s.Ledger
			if name == "" {
				name = strings.TrimPrefix(project, "/api/admin/projects/")
			}
			grant := ledger.Grant{Key: hash, Period: s.Period, Epoch: s.Epoch, HeldPico: s.HeldPico, NeedPico: s.NeedPico, LeastPico: s.LeastPico}
			given, err := ledger.DecodeGrantReply(b.Ask(abi.ClassLedger, name, grant.Encode()))
			if err != nil || !given.Granted {
				b.Fatalf("%d: %v, the ledger replied %+v", i, err, given)
			}
			admit.Grants = append(admit.Grants, keymeter.LevelGrant{Ledger: s.Ledger, Grant: keymeter.Grant{Period: given.Period, Epoch: given.Epoch, TotalPico: given.TotalPico}})
		}
	}
	b.Fatalf("%s is not admitted", id)
}

// granted asks a group's Ledger for an amount, as another meter.
func granted(b *controltest.Bench, id string, pico money.Pico) bool {
	b.Helper()
	g := stored(b, id)
	grant := ledger.Grant{Key: strings.Repeat("f", 64), Period: g.Period(controltest.Today), Epoch: 1, NeedPico: pico, LeastPico: pico}
	given, err := ledger.DecodeGrantReply(b.Ask(abi.ClassLedger, id, grant.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return given.Granted
}
