package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// operation is one change by an operator. It has the control plane's steps: read, commit (repeated after a conflict),
// update the ledger, update the meters, acknowledge. If it fails between two steps, the Directory's outbox completes
// it.
type operation struct {
	w          *world
	it         *item
	random     *rng
	p          *project
	g          *group // nil: the change does not concern a group
	k, fresh   *key
	attempts   int
	before     directory.Project
	project    directory.Project
	writes     []directory.Write
	deliveries []abi.Delivery
	republish  bool
	recalls    bool              // the meters return what they hold of a budget
	again      func()            // repeats the change after a conflict
	updated    func()            // continues after the keys of a project are up to date
	version    uint64            // of the key's record
	versions   map[string]uint64 // delivered to meters; the keys of the map are key hashes
	waitUntil  uint64            // when the last lease that contradicts the change has ended

	committing bool // the next call is the commit
}

func (w *world) operate(it *item) {
	w.stats.Operations++
	op := &operation{w: w, it: it, random: fork(it.Seed, 1), p: w.projects[it.Project%len(w.projects)]}
	op.updated, op.again = op.acknowledge, op.read
	if op.ofKey() {
		op.k = w.keys[it.Key%len(w.keys)]
		op.p = op.k.project
	}
	if it.Do == "groupbudget" || it.Do == "move" {
		if len(w.groups) == 0 {
			return
		}
		op.g = w.groups[it.Group%len(w.groups)]
	}
	w.logf("an operator: %s %s", it.Do, op.name())
	if it.Do == "groupbudget" {
		op.readGroup()
		return
	}
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
	if op.g != nil && op.it.Do == "groupbudget" {
		return op.g.id
	}
	if op.k != nil {
		return op.k.id
	}
	return op.p.id
}

// call sends a command of the control plane. With call faults, some calls fail, which ends the operation.
func (op *operation) call(class abi.Class, name string, command []byte, then func([]byte)) {
	w := op.w
	draw := uint64(99)
	if w.plan.Faults.Calls {
		draw = op.random.below(30)
	}
	w.after(w.delay(op.random), func() {
		if draw == 0 {
			w.logf("the operator's call to the %s is lost", className(class))
			return
		}
		reply, ok := w.object(class, name).call(command)
		if ok && op.committing {
			op.committed(reply)
		}
		if !ok || draw == 1 {
			w.logf("the operator gets no reply from the %s", className(class))
			return
		}
		w.after(w.delay(op.random), func() { then(reply) })
	})
}

const maxCommits = 5

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
	op.deliveries = append(op.deliveries, op.settings(&op.project)...)
	op.deliveries = append(op.deliveries, directory.StatusTo(&k, &op.project))
	if k.Status != doc.Inactive {
		op.deliveries = append(op.deliveries, directory.RecordTo(&k, &op.project))
	}
	op.commit()
}

// rotate replaces a key with a new one. If the key was already replaced, it returns false.
func (op *operation) rotate(k *directory.Key) bool {
	if k.ReplacedBy != "" {
		return false
	}
	if op.fresh == nil {
		op.fresh = op.w.newKey(op.p, op.k.test())
		op.fresh.addOwn(k.Budget)
	}
	made := directory.Key{Key: k.Key, Version: 1}
	made.ID, made.Hash, made.Status = op.fresh.id, op.fresh.hash, doc.Active
	k.ReplacedBy = made.ID
	k.ExpiresMs = op.w.now + uint64(op.it.Ms)
	op.project.KeyCount++
	op.writes = append(op.writes, directory.Write{Key: doc.KeyKey(op.p.id, made.ID), Value: made.Encode()})
	op.deliveries = append(op.deliveries, directory.StatusTo(&made, &op.project), directory.RecordTo(&made, &op.project))
	return true
}

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
	case "move":
		op.move()
		return
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
		op.w.fail("host", "unknown operation %q", op.it.Do)
	}
	op.deliveries = append(op.deliveries, directory.SettingsTo(p, op.w.now))
	if op.before.Policy.Version != p.Policy.Version {
		if p.Policy.Version != 0 {
			op.deliveries = append(op.deliveries, directory.PolicyTo(p))
		}
		if op.before.Policy.Version != 0 {
			op.deliveries = append(op.deliveries, directory.OldPolicyTo(&op.before))
		}
	}
	op.republish, op.recalls = op.it.Do != "budget", op.it.Do == "budget" && p.BudgetPico <= op.before.BudgetPico
	op.commit()
}

// settlePolicy gives a changed policy a version. An empty policy becomes the zero value.
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
		Deliveries: op.deliveries,
	}
	if op.republish {
		commit.Republish = []string{op.p.id}
	}
	op.committing = true
	op.call(abi.ClassDirectory, directory.Name, commit.Encode(), func(reply []byte) {
		conflict, err := directory.DecodeConflict(reply)
		if err != nil {
			op.w.fail("host", "the Directory's reply is malformed")
		}
		if conflict != "" {
			op.writes, op.deliveries = nil, nil
			op.again()
			return
		}
		op.carryOut(op.deliveries, abi.ClassLedger, func() { op.carryOut(op.deliveries, abi.ClassKeyMeter, op.updateKeys) })
	})
}

// committed records a policy that the Directory has committed, even if the Directory's reply is lost.
func (op *operation) committed(reply []byte) {
	op.committing = false
	if conflict, _ := directory.DecodeConflict(reply); conflict == "" && op.project.Policy.Version != op.before.Policy.Version {
		policy := op.project.Policy
		if policy.Version == 0 {
			policy.Version = op.project.Revision + 1 // the version of an emptied policy
		}
		op.p.policies = append(op.p.policies, policy)
	}
}

// carryOut makes the deliveries of one class one after another. Then it calls then.
func (op *operation) carryOut(all []abi.Delivery, class abi.Class, then func()) {
	at := slices.IndexFunc(all, func(d abi.Delivery) bool { return d.Class == class })
	if at < 0 {
		then()
		return
	}
	d := all[at]
	op.call(d.Class, d.Name, d.Data, func(reply []byte) {
		if d.Class == abi.ClassKeyMeter {
			op.delivered(&d, reply)
		}
		op.carryOut(all[at+1:], class, then)
	})
}

// delivered records the version that a meter has. It also records for how long the change cannot be acknowledged. The
// control plane's clock may be fast.
func (op *operation) delivered(d *abi.Delivery, reply []byte) {
	_, record := readPut(d.Data)
	if op.versions == nil {
		op.versions = map[string]uint64{}
	}
	op.versions[d.Name] = max(op.versions[d.Name], record.Version)
	wait := readPutReply(reply)
	if op.w.plan.Drift {
		wait = wait * 20 / 21
	}
	op.waitUntil = max(op.waitUntil, op.w.now+wait)
}

// settings returns the delivery that gives the ledger a policy before any meter receives that policy. The policy may
// come from another change at the same time.
func (op *operation) settings(p *directory.Project) []abi.Delivery {
	if p.Policy.Version == 0 {
		return nil
	}
	return []abi.Delivery{directory.SettingsTo(p, op.w.now)}
}

// updateKeys delivers the project's current settings to all of its keys.
func (op *operation) updateKeys() {
	if !op.republish {
		op.recall(&op.p.node, []*project{op.p}, op.acknowledge)
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
					op.updateKeys() // because of another change at the same time, the list of keys is out of date
					return
				}
				updates := op.settings(&p)
				op.carryOut(updates, abi.ClassLedger, func() { op.carryOut(all, abi.ClassKeyMeter, op.updated) })
			})
		})
	})
}

// acknowledge reports success to the operator. The key's meter must have the change by then (I4).
func (op *operation) acknowledge() {
	if wait := op.waitUntil - min(op.waitUntil, op.w.now); wait > 0 {
		op.w.after(wait, op.acknowledge)
		return
	}
	for name, version := range op.versions {
		if k := op.w.byHash[name]; k != nil {
			k.acked = max(k.acked, version)
		}
	}
	op.w.logf("acknowledged: %s %s", op.it.Do, op.name())
	if op.fresh != nil {
		op.k.successor = op.fresh // the acknowledgment shows the new key's value
	}
	if op.k != nil && op.k.state().record.Version < op.version {
		op.w.fail("I4", "%s of %s is acknowledged before its meter has the change", op.it.Do, op.k.id)
	}
}
