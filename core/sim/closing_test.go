package sim_test

import (
	"cmp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// account is what the Ledger has to say of a key and a model.
type account struct {
	cost, tokens span
	flagged      bool
}

type accountID struct{ keyID, model string }

// closeBooks compares the Ledger's figures with the truth, when nothing is under way any more.
func (w *world) closeBooks() {
	for _, x := range w.exchanges {
		if !x.over {
			w.fail("I13", "%s does not end: %d actions are outstanding", x.id, len(x.open))
		}
	}
	for _, o := range w.ordered {
		if rows, _ := o.Read(abi.Range{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1}); len(rows) > 0 {
			w.fail("I13", "%s %s still has %s in its outbox", className(o.class), o.name, rows[0].Key)
		}
		if o.class != abi.ClassKeyMeter || w.byHash[o.name] == nil {
			continue
		}
		reply, _ := o.call(flushCommand(true))
		if open, _, err := readFlush(reply); err != nil || open > 0 {
			w.fail("I13", "%s still has %d reservations", o.name, open)
		}
	}
	w.drain()
	for _, x := range w.exchanges {
		if x.story.status == 402 {
			x.judgeBroke()
		}
	}
	want := w.accounts()
	for _, p := range w.projects {
		w.compare(p, want)
		w.compareAlert(p)
	}
	w.compareReports()
}

// compareAlert: the owner of a project is told that its budget is used up, as long as nobody changed it.
func (w *world) compareAlert(p *project) {
	changed := slices.ContainsFunc(w.plan.Items, func(it item) bool { return it.Do == "budget" })
	if changed || p.jumped || !w.plan.Projects[p.number].Alerts || p.told100 {
		return
	}
	for _, t := range p.turns {
		if len(p.turns) == 1 && p.budget > 0 && t.spent >= p.budget {
			w.fail("alert", "%s has spent %d of %d, and nobody was told", p.id, t.spent, p.budget)
		}
	}
}

// compareReports: GET /api/usage says of the present turn of the budget what was booked in it.
func (w *world) compareReports() {
	calm := *w.plan
	calm.Faults, calm.Delay = faults{}, ""
	w.plan, w.kv.downUntil = &calm, 0
	for _, p := range w.projects {
		at := slices.IndexFunc(w.keys, func(k *key) bool { return k.project == p && k.state().active(w.now) && k.state().record.ExpiresMs == 0 })
		if at < 0 || p.jumped || p.cycle != calendar.Monthly {
			continue
		}
		x := w.begin(&item{Do: "ask", Path: "usage", Seed: 1}, w.keys[at], w.isolates[0], 1)
		if x.isolate.offset != 0 {
			continue
		}
		w.drain()
		used := gjson.GetBytes(x.story.body, "budget.used").Raw
		if want := string(money.Append(nil, p.turn(w.now).spent, money.Dollar)); used != want {
			w.fail("I2 report", "%s: the report says %s, spent were %s: %s", p.id, used, want, x.story.body)
		}
	}
}

// accounts are all that is to be booked.
func (w *world) accounts() map[accountID]*account {
	want := map[accountID]*account{}
	of := func(k *key, model string) *account {
		id := accountID{k.id, model}
		if want[id] == nil {
			want[id] = &account{}
		}
		return want[id]
	}
	for _, k := range w.keys {
		for _, v := range k.reservations() {
			if !v.settled {
				a := of(k, v.model)
				a.cost.add(exactly(v.amount))
				a.flagged = true
				continue
			}
			for _, f := range v.x.story.fetches {
				if f.nothing || k.test() {
					continue
				}
				a := of(k, f.model.Name)
				a.cost.add(f.cost)
				a.tokens.add(f.tokens)
				a.flagged = a.flagged || f.flagged
			}
		}
	}
	return want
}

func (w *world) compare(p *project, want map[accountID]*account) {
	o := w.object(abi.ClassLedger, p.id)
	reply, _ := o.call(detailsQuery(0, 1<<20))
	details, err := readDetails(reply)
	if err != nil {
		w.fail("host", "the Ledger's answer is malformed")
	}
	got := map[accountID]*detail{}
	sum := int64(0)
	for i := range details {
		d := &details[i]
		sum += d.usage.CostPico
		id := accountID{d.keyID, d.model}
		if have := got[id]; have != nil {
			have.usage.Plus(&d.usage)
			continue
		}
		got[id] = d
	}
	if sum != p.booked {
		w.fail("I2", "%s: the Ledger has %d, the meters have booked %d", p.id, sum, p.booked)
	}
	var ids []accountID
	for id := range got {
		ids = append(ids, id)
	}
	for id := range want {
		if got[id] == nil && w.keyByID(id.keyID).project == p {
			got[id] = &detail{}
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b accountID) int {
		return cmp.Or(cmp.Compare(a.keyID, b.keyID), cmp.Compare(a.model, b.model))
	})
	w.compareCounts(p, ids, got)
	w.compareKeys(ids, got, want)
	for _, id := range ids {
		w.compareOne(id, got[id], want[id])
	}
}

// compareCounts compares how many requests were answered, from the cache or not.
func (w *world) compareCounts(p *project, ids []accountID, got map[accountID]*detail) {
	for _, k := range w.keys {
		if k.project != p {
			continue
		}
		requests, hits := k.hits, k.hits
		for _, v := range k.reservations() {
			switch {
			case !v.settled || v.outcome.outcome == keymeter.Served:
				requests++
			case v.outcome.outcome == keymeter.Hit:
				requests, hits = requests+1, hits+1
			}
		}
		haveRequests, haveHits := uint64(0), uint64(0)
		for _, id := range ids {
			if id.keyID == k.id {
				haveRequests, haveHits = haveRequests+got[id].usage.Requests, haveHits+got[id].usage.Hits
			}
		}
		if haveRequests != requests || haveHits != hits {
			w.fail("I2 counts", "%s: the Ledger counts %d requests and %d hits, there were %d and %d", k.id, haveRequests, haveHits, requests, hits)
		}
	}
}

// compareKeys finds keys whose sums are right all in all, and booked to the wrong targets.
func (w *world) compareKeys(ids []accountID, got map[accountID]*detail, want map[accountID]*account) {
	for _, k := range w.keys {
		sum, all, wrong := int64(0), span{}, accountID{}
		for _, id := range ids {
			if id.keyID != k.id {
				continue
			}
			a := want[id]
			if a == nil {
				a = &account{}
			}
			sum += got[id].usage.CostPico
			all.add(a.cost)
			if !a.cost.holds(got[id].usage.CostPico) {
				wrong = id
			}
		}
		if wrong.keyID != "" && all.holds(sum) {
			w.fail("I12 target", "%s %q: booked are %d, which is right for the key but not for the model", k.id, wrong.model, got[wrong].usage.CostPico)
		}
	}
}

func (w *world) keyByID(id string) *key {
	at := slices.IndexFunc(w.keys, func(k *key) bool { return k.id == id })
	return w.keys[at]
}

func (w *world) compareOne(id accountID, got *detail, want *account) {
	if want == nil {
		want = &account{}
	}
	u := &got.usage
	k := w.keyByID(id.keyID)
	if !want.cost.holds(u.CostPico) {
		w.fail(w.rule(want), "%s %q: booked are %d, to be booked %s", id.keyID, id.model, u.CostPico, want.cost)
	}
	if have := int64(u.Prompt + u.Completion); !k.test() && !want.tokens.holds(have) {
		w.fail(w.rule(want), "%s %q: booked are %d tokens, to be booked %s", id.keyID, id.model, have, want.tokens)
	}
	if flagged := u.Estimated+u.Expired > 0; flagged != want.flagged {
		w.fail(w.rule(want), "%s %q: %d are flagged as estimated and %d as expired; estimates there were: %t", id.keyID, id.model, u.Estimated, u.Expired, want.flagged)
	}
}

// rule is the one that a difference in a key's sums breaks: if all in all they are right, only the targets are wrong.
func (w *world) rule(want *account) string {
	if want.flagged {
		return "I12 estimate"
	}
	return "I2"
}
