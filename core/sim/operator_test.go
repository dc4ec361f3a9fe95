package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// operation is one change that an operator makes, in the steps of the control plane: read, commit (again if
// somebody else came between), tell the ledger, tell the meters, acknowledge. What it does not get to, the
// Directory's outbox does.
type operation struct {
	w         *world
	it        *item
	random    *rng
	p         *project
	k, fresh  *key
	attempts  int
	before    directory.Project
	project   directory.Project
	writes    []directory.Write
	delivers  []abi.Delivery
	republish bool
	version   uint64 // of the key's record

	committing bool // the next call is the commit
}

func (w *world) operate(it *item) {
	w.stats.Operations++
	op := &operation{w: w, it: it, random: fork(it.Seed, 1), p: w.projects[it.Project%len(w.projects)]}
	if op.ofKey() {
		op.k = w.keys[it.Key%len(w.keys)]
		op.p = op.k.project
	}
	w.say("an operator: %s %s", it.Do, op.name())
	op.read()
}

func (op *operation) ofKey() bool {
	switch op.it.Do {
	case "deactivate", "activate", "delete", "rotate", "keymodels":
		return true
	}
	return false
}

func (op *operation) name() string {
	if op.k != nil {
		return op.k.id
	}
	return op.p.id
}

// call is a command of the control plane. In a world that loses calls some fail, and then the operation ends.
func (op *operation) call(class abi.Class, name string, command []byte, then func([]byte)) {
	w := op.w
	draw := uint64(99)
	if w.plan.Faults.Calls {
		draw = op.random.below(30)
	}
	w.after(w.delay(op.random), func() {
		if draw == 0 {
			w.say("the operator's call of %s is lost", className(class))
			return
		}
		reply, ok := w.object(class, name).call(command)
		if ok && op.committing {
			op.committed(reply)
		}
		if !ok || draw == 1 {
			w.say("the operator hears nothing of %s", className(class))
			return
		}
		w.after(w.delay(op.random), func() { then(reply) })
	})
}

const maxCommits = 5

// read reads the project, and the key.
func (op *operation) read() {
	if op.attempts++; op.attempts > maxCommits {
		return
	}
	list := directory.List{Prefix: doc.ProjectKey(op.p.id), Limit: 1}
	op.call(abi.ClassDirectory, directory.Name, list.Encode(), func(reply []byte) {
		docs, err := directory.DecodeDocuments(reply)
		if err != nil || len(docs) != 1 {
			op.w.fail("host", "the Directory has no %s", op.p.id)
		}
		op.before, _ = directory.DecodeProject(docs[0])
		op.project = op.before
		op.project.Version++
		if op.k == nil {
			op.changeProject()
			return
		}
		list := directory.List{Prefix: doc.KeyKey(op.p.id, op.k.id), Limit: 1}
		op.call(abi.ClassDirectory, directory.Name, list.Encode(), func(reply []byte) {
			docs, err := directory.DecodeDocuments(reply)
			if err != nil || len(docs) != 1 || docs[0].Key != doc.KeyKey(op.p.id, op.k.id) {
				return // it was deleted
			}
			k, _ := directory.DecodeKey(docs[0])
			op.changeKey(k)
		})
	})
}

// changeKey makes the commit of a key's change.
func (op *operation) changeKey(k directory.Key) {
	k.Version++
	switch op.it.Do {
	case "deactivate":
		k.Status = doc.Inactive
	case "activate":
		k.Status = doc.Active
	case "delete":
		k.Status = doc.Removed
	case "keymodels":
		k.Models = op.it.Names
	case "rotate":
		if !op.rotate(&k) {
			return
		}
	}
	write := directory.Write{Key: doc.KeyKey(op.p.id, k.ID), Version: k.Version - 1, Value: k.Encode()}
	if k.Status == doc.Removed {
		write.Value = nil
	}
	op.writes = append(op.writes, write)
	op.version = k.Version + op.project.Version
	op.delivers = append(op.delivers, op.settings(&op.project)...)
	op.delivers = append(op.delivers, directory.StatusTo(&k, &op.project))
	if k.Status != doc.Inactive {
		op.delivers = append(op.delivers, directory.RecordTo(&k, &op.project))
	}
	op.commit()
}

// rotate puts a fresh key in a key's place.
func (op *operation) rotate(k *directory.Key) bool {
	if k.ReplacedBy != "" {
		return false
	}
	if op.fresh == nil {
		op.fresh = op.w.newKey(op.p, op.k.test())
	}
	made := directory.Key{Key: k.Key, Version: 1}
	made.ID, made.Hash, made.Status = op.fresh.id, op.fresh.hash, doc.Active
	k.ReplacedBy = made.ID
	k.ExpiresMs = op.w.now + uint64(op.it.Ms)
	op.project.KeyCount++
	op.writes = append(op.writes, directory.Write{Key: doc.KeyKey(op.p.id, made.ID), Value: made.Encode()})
	op.delivers = append(op.delivers, directory.StatusTo(&made, &op.project), directory.RecordTo(&made, &op.project))
	return true
}

// changeProject makes the commit of a project's change.
func (op *operation) changeProject() {
	p := &op.project
	p.Revision++
	switch op.it.Do {
	case "budget":
		p.BudgetPico = op.it.Amount
	case "plan":
		p.Plan = op.it.Name
	case "cache":
		p.CacheTTLSeconds = uint64(op.it.Amount)
	case "archive":
		p.Archived = true
	case "restore":
		p.Archived = false
	case "policy":
		p.Policy.Models = op.it.Names
		op.settlePolicy()
	case "route":
		p.Policy.Routes = nil
		if len(op.it.Names) > 0 {
			route := doc.Route{Tier: op.it.Name, Strategy: uint8(config.Ordered)}
			for _, name := range op.it.Names {
				route.Targets = append(route.Targets, doc.RouteTarget{Model: name})
			}
			p.Policy.Routes = []doc.Route{route}
		}
		op.settlePolicy()
	default:
		op.w.fail("host", "nobody knows how to %s", op.it.Do)
	}
	op.delivers = append(op.delivers, directory.SettingsTo(p, op.w.now))
	if op.before.Policy.Version != p.Policy.Version {
		if p.Policy.Version != 0 {
			op.delivers = append(op.delivers, directory.PolicyTo(p))
		}
		if op.before.Policy.Version != 0 {
			op.delivers = append(op.delivers, directory.OldPolicyTo(&op.before))
		}
	}
	op.republish = op.it.Do != "budget"
	op.commit()
}

// settlePolicy gives a changed policy its version; one that says nothing is none.
func (op *operation) settlePolicy() {
	p := &op.project
	p.Policy.Version = p.Revision + 1
	if p.Policy.Empty() {
		p.Policy = doc.Policy{}
	}
}

func (op *operation) commit() {
	commit := directory.Commit{
		Writes:     append(op.writes, directory.Write{Key: doc.ProjectKey(op.p.id), Version: op.before.Version, Value: op.project.Encode()}),
		Deliveries: op.delivers,
	}
	if op.republish {
		commit.Republish = op.p.id
	}
	op.committing = true
	op.call(abi.ClassDirectory, directory.Name, commit.Encode(), func(reply []byte) {
		conflict, err := directory.DecodeConflict(reply)
		if err != nil {
			op.w.fail("host", "the Directory's answer is malformed")
		}
		if conflict != "" {
			op.writes, op.delivers = nil, nil
			op.read()
			return
		}
		op.carryOut(op.delivers, abi.ClassLedger, func() { op.carryOut(op.delivers, abi.ClassKeyMeter, op.tellKeys) })
	})
}

// committed is when the Directory has the change, whether the operator hears of it or not.
func (op *operation) committed(reply []byte) {
	op.committing = false
	if conflict, _ := directory.DecodeConflict(reply); conflict == "" && op.project.Policy.Version != op.before.Policy.Version {
		policy := op.project.Policy
		if policy.Version == 0 {
			policy.Version = op.project.Revision + 1 // that of one that says nothing any more
		}
		op.p.policies = append(op.p.policies, policy)
	}
}

// carryOut makes deliveries of one class, one after the other, and goes on when all are made.
func (op *operation) carryOut(all []abi.Delivery, class abi.Class, then func()) {
	at := slices.IndexFunc(all, func(d abi.Delivery) bool { return d.Class == class })
	if at < 0 {
		then()
		return
	}
	d := all[at]
	op.call(d.Class, d.Name, d.Data, func([]byte) { op.carryOut(all[at+1:], class, then) })
}

// settings are what the ledger is told before a meter hears of a policy, which may be somebody else's change.
func (op *operation) settings(p *directory.Project) []abi.Delivery {
	if p.Policy.Version == 0 {
		return nil
	}
	return []abi.Delivery{directory.SettingsTo(p, op.w.now)}
}

// tellKeys tells all of the project's keys what it says now.
func (op *operation) tellKeys() {
	if !op.republish {
		op.acknowledge()
		return
	}
	list := directory.List{Prefix: doc.ProjectKey(op.p.id), Limit: 1}
	op.call(abi.ClassDirectory, directory.Name, list.Encode(), func(reply []byte) {
		docs, _ := directory.DecodeDocuments(reply)
		p, _ := directory.DecodeProject(docs[0])
		list := directory.List{Prefix: doc.KeysOf(op.p.id), Limit: 200}
		op.call(abi.ClassDirectory, directory.Name, list.Encode(), func(reply []byte) {
			docs, _ := directory.DecodeDocuments(reply)
			var all []abi.Delivery
			for _, d := range docs {
				k, _ := directory.DecodeKey(d)
				all = append(all, directory.StatusTo(&k, &p))
			}
			again := directory.List{Prefix: doc.ProjectKey(op.p.id), Limit: 1}
			op.call(abi.ClassDirectory, directory.Name, again.Encode(), func(reply []byte) {
				docs, _ := directory.DecodeDocuments(reply)
				if q, _ := directory.DecodeProject(docs[0]); q.Version != p.Version {
					op.tellKeys() // somebody else changed something meanwhile: the moment is gone
					return
				}
				told := op.settings(&p)
				op.carryOut(told, abi.ClassLedger, func() { op.carryOut(all, abi.ClassKeyMeter, op.acknowledge) })
			})
		})
	})
}

// acknowledge is when the operator is told that the change is in force: the key's meter must know by then (I4).
func (op *operation) acknowledge() {
	op.w.say("acknowledged: %s %s", op.it.Do, op.name())
	if op.fresh != nil {
		op.k.successor = op.fresh // its value is shown in this answer
	}
	if op.k != nil && op.k.state().record.Version < op.version {
		op.w.fail("I4", "%s of %s is acknowledged, and its meter does not know", op.it.Do, op.k.id)
	}
}
