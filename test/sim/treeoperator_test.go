package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// read reads a document for an operation. found is false if there is none.
func (op *operation) document(key string, then func(d directory.Document, found bool)) {
	list := directory.List{Prefix: key, Limit: 1}
	op.call(abi.ClassDirectory, directory.Name, list.Encode(), func(reply []byte) {
		docs, err := directory.DecodeDocuments(reply)
		if err != nil {
			op.w.fail("host", "the Directory's reply is malformed")
		}
		if len(docs) == 0 || docs[0].Key != key {
			then(directory.Document{}, false)
			return
		}
		then(docs[0], true)
	})
}

// path reads the groups above the projects of a group, from the root down.
func (op *operation) path(id string, below []directory.Group, then func([]directory.Group)) {
	if id == "" {
		id = doc.Root
	}
	op.document(doc.GroupKey(id), func(d directory.Document, found bool) {
		g, err := directory.DecodeGroup(d)
		if !found || err != nil {
			op.w.fail("host", "the Directory has no %s", id)
		}
		path := append([]directory.Group{g}, below...)
		if id == doc.Root {
			then(path)
			return
		}
		op.path(g.Parent, path, then)
	})
}

// move puts the project into another group.
func (op *operation) move() {
	op.project.Group = ""
	if op.g.parent != nil {
		op.project.Group = op.g.id
	}
	op.republish = true
	op.place(op.commit)
}

// place sets the project's chain. The commit depends on the groups of the path, and their Ledgers get their budgets
// first.
func (op *operation) place(then func()) {
	op.path(op.project.Group, nil, func(path []directory.Group) {
		op.project.Chain = nil
		for _, g := range path {
			op.writes = append(op.writes, kernel.KeepGroup(g))
			if g.Stops() {
				op.project.Chain = append(op.project.Chain, g.Nodes()...)
				next := kernel.NextGroup(g)
				op.deliveries = append(op.deliveries, directory.BudgetsTo(&next, op.w.now)...)
			}
		}
		then()
	})
}

// readGroup begins a change of a group's budget.
func (op *operation) readGroup() {
	if op.attempts++; op.attempts > maxCommits {
		return
	}
	op.document(doc.GroupKey(op.g.id), func(d directory.Document, _ bool) {
		before, err := directory.DecodeGroup(d)
		if err != nil {
			op.w.fail("host", "the Directory has no %s", op.g.id)
		}
		after := kernel.NextGroup(before)
		after.Revision++
		after.Budgeted, after.BudgetPico = op.it.Amount >= 0, max(0, op.it.Amount)
		op.recalls = after.Stops() && !(before.Stops() && after.BudgetPico > before.BudgetPico)
		if after.Stops() && !(before.Stops() && before.Budgeted && after.BudgetPico >= before.BudgetPico) {
			after.Lowered = after.Revision
		}
		commit := directory.Commit{Writes: []directory.Write{kernel.WriteGroup(&after)}}
		if after.Stops() {
			commit.Deliveries = directory.BudgetsTo(&after, op.w.now)
		}
		op.call(abi.ClassDirectory, directory.Name, commit.Encode(), func(reply []byte) {
			if conflict, err := directory.DecodeConflict(reply); err != nil || conflict != "" {
				op.readGroup()
				return
			}
			op.carryOut(commit.Deliveries, abi.ClassLedger, func() { op.bringDown(op.below(), 0) })
		})
	})
}

// below returns the projects that the Directory has in the group or in the groups below it.
func (op *operation) below() (all []*project) {
	o := op.w.object(abi.ClassDirectory, directory.Name)
	for _, p := range op.w.projects {
		list := directory.List{Prefix: doc.ProjectKey(p.id), Limit: 1}
		reply, _ := o.run(list.Encode())
		docs, _ := directory.DecodeDocuments(reply)
		d, err := directory.DecodeProject(docs[0])
		if err != nil {
			op.w.fail("host", "the Directory has no %s", p.id)
		}
		for g := op.w.groupOf(d.Group); g != nil; g = g.parent {
			if g == op.g {
				all = append(all, p)
			}
		}
	}
	return all
}

func (w *world) groupOf(id string) *group {
	at := slices.IndexFunc(w.groups, func(g *group) bool { return g.id == id })
	return w.groups[max(0, at)]
}

// bringDown brings the changed group to the projects below it, one after another. Meters that get a lower budget return
// what they hold of it.
func (op *operation) bringDown(all []*project, n int) {
	if n == len(all) {
		if op.recalls {
			op.lowered(&op.g.node)
		}
		op.acknowledge()
		return
	}
	op.p = all[n]
	op.updated = func() { op.bringDown(all, n+1) }
	op.again = func() {
		if op.attempts++; op.attempts <= 4*maxCommits {
			op.bringDown(all, n)
		}
	}
	op.writes, op.deliveries = nil, nil
	op.document(doc.ProjectKey(op.p.id), func(d directory.Document, _ bool) {
		var err error
		if op.before, err = directory.DecodeProject(d); err != nil {
			op.w.fail("host", "the Directory has no %s", op.p.id)
		}
		op.project = kernel.NextProject(op.before)
		op.republish = true
		op.place(op.commit)
	})
}

// recall makes the meters of projects return what they hold of a node's budget. It waits for what they have lent.
func (op *operation) recall(n *node, all []*project, then func()) {
	if !op.recalls || len(op.w.groups) == 0 {
		then()
		return
	}
	if len(all) == 0 {
		op.lowered(n)
		then()
		return
	}
	p, rest := all[0], all[1:]
	list := directory.List{Prefix: doc.KeysOf(p.id), Limit: 200}
	op.call(abi.ClassDirectory, directory.Name, list.Encode(), func(reply []byte) {
		docs, err := directory.DecodeDocuments(reply)
		if err != nil {
			op.w.fail("host", "the Directory's reply is malformed")
		}
		var meters []string
		for _, d := range docs {
			k, _ := directory.DecodeKey(d)
			meters = append(meters, k.Hash)
		}
		op.recallFrom(n, p, meters, func() { op.recall(n, rest, then) })
	})
}

// recallFrom recalls a node's budget from the meters of a project. Then it waits and repeats it for the meters that may
// return more.
func (op *operation) recallFrom(n *node, p *project, meters []string, then func()) {
	lending, waitMs := []string(nil), uint64(0)
	var next func(at int)
	next = func(at int) {
		switch {
		case at < len(meters):
			op.recallMeter(n, p, meters[at], func(lentMs uint64) {
				if lentMs > 0 {
					lending, waitMs = append(lending, meters[at]), max(waitMs, lentMs)
				}
				next(at + 1)
			})
		case len(lending) > 0:
			op.w.after(waitMs, func() { op.recallFrom(n, p, lending, then) })
		default:
			then()
		}
	}
	next(0)
}

func (op *operation) recallMeter(n *node, p *project, meter string, then func(lentMs uint64)) {
	command := keymeter.Flush{Recall: true, Ledger: n.id}
	if n == &p.node {
		command.Ledger = ""
	}
	op.call(abi.ClassKeyMeter, meter, command.Encode(), func(reply []byte) {
		f, err := keymeter.DecodeFlushReply(reply)
		if err != nil {
			op.w.fail("host", "the reply to a flush is malformed")
		}
		report := f.Return
		if len(f.Absorbs) > 0 {
			report = ledger.Batch(f.Absorbs)
		}
		if len(report) == 0 {
			then(f.LentMs)
			return
		}
		op.call(abi.ClassLedger, n.id, report, func([]byte) { then(f.LentMs) })
	})
}

// lowered records that a lower budget is about to be acknowledged. Only earlier reservations may exceed it from then on.
func (op *operation) lowered(n *node) {
	if op.it.Amount < 0 || n.budget > op.it.Amount {
		return // another change has raised it
	}
	if op.g != nil && op.losesKeys(n) {
		return // until their move is acknowledged, they may use what they hold
	}
	t := n.period(uint64(int64(op.w.now) + op.w.objectOffset))
	t.lowered, t.cap = true, max(op.it.Amount, t.spent+t.reserved)
}

// losesKeys reports whether meters still have a group on their path although their project is moving out of it.
func (op *operation) losesKeys(n *node) bool {
	below := op.below()
	return slices.ContainsFunc(op.w.keys, func(k *key) bool {
		onPath := slices.ContainsFunc(k.state().record.Chain, func(c doc.Node) bool { return c.ID == n.id })
		return onPath && !slices.Contains(below, k.project)
	})
}
