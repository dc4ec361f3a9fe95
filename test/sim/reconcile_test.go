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

// account is the expected Ledger entry of a key and a model.
type account struct {
	cost, tokens span
	flagged      bool
}

type accountID struct{ keyID, model string }

// reconcile compares the Ledger's figures with the world's own figures when nothing is in flight any more.
func (w *world) reconcile() {
	for _, x := range w.exchanges {
		if !x.over {
			w.fail("I13", "%s does not end: %d actions are outstanding", x.id, len(x.open))
		}
	}
	w.compareSpending()
	w.compareOwn()
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
	w.recallAll()
	w.settleDown()
	w.checkReturned()
	w.checkUncommitted()
	w.drain()
	for _, x := range w.exchanges {
		if x.history.status == 402 || x.history.usedUp {
			x.check402()
		}
	}
	want := w.accounts()
	for _, p := range w.projects {
		w.compare(p, want)
		w.compareAlert(p)
		w.compareViolations(p)
	}
	w.compareReports()
}

// compareAlert checks the webhook for 100% of the budget. If the budget was used up and never changed, it must have
// been sent.
func (w *world) compareAlert(p *project) {
	changed := slices.ContainsFunc(w.plan.Items, func(it item) bool { return it.Do == "budget" })
	if changed || p.jumped || !w.plan.Projects[p.number].Alerts || p.alerted {
		return
	}
	for _, t := range p.periods {
		if len(p.periods) == 1 && p.budget > 0 && t.spent >= p.budget {
			w.fail("alert", "%s has spent %d of %d, and no alert was sent", p.id, t.spent, p.budget)
		}
	}
}

// compareReports checks that GET /api/usage reports the spending of the current budget period.
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
		if x.isolate.offset != 0 || x.isolate.rate != 0 {
			continue
		}
		w.drain()
		used := gjson.GetBytes(x.history.body, "budget.used").Raw
		if want := string(money.Append(nil, p.period(w.now).spent, money.Dollar)); used != want {
			w.fail("I2 report", "%s: the report has %s, spent is %s: %s", p.id, used, want, x.history.body)
		}
	}
}

// accounts returns the expected Ledger entries.
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
		k.unreported(of)
		for _, v := range k.reservations() {
			if !v.settled {
				a := of(k, v.model)
				a.cost.add(exactly(v.amount))
				a.flagged = true
				continue
			}
			for _, f := range v.x.history.fetches {
				if f.unbilled || k.test() {
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
		w.fail("host", "the Ledger's reply is malformed")
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
		w.fail("I2", "%s: the Ledger has %d, the meters booked %d", p.id, sum, p.booked)
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

// compareCounts compares the numbers of served requests and of cache hits.
func (w *world) compareCounts(p *project, ids []accountID, got map[accountID]*detail) {
	for _, k := range w.keys {
		if k.project != p {
			continue
		}
		requests, hits := k.hits+k.unreportedRequests(), k.hits
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
			w.fail("I2 counts", "%s: the Ledger has %d requests and %d hits, want %d and %d", k.id, haveRequests, haveHits, requests, hits)
		}
	}
}

// compareKeys finds keys whose total is right although it was booked to the wrong models.
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
			w.fail("I12 target", "%s %q: booked %d; the key's total is right, the model's is not", k.id, wrong.model, got[wrong].usage.CostPico)
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
		w.fail(w.rule(want), "%s %q: booked %d, want %s", id.keyID, id.model, u.CostPico, want.cost)
	}
	if have := int64(u.Prompt + u.Completion); !k.test() && !want.tokens.holds(have) {
		w.fail(w.rule(want), "%s %q: booked %d tokens, want %s", id.keyID, id.model, have, want.tokens)
	}
	if flagged := u.Estimated+u.Expired > 0; flagged != want.flagged {
		w.fail(w.rule(want), "%s %q: %d flagged as estimated and %d as expired; want flags: %t", id.keyID, id.model, u.Estimated, u.Expired, want.flagged)
	}
}

// rule returns the rule that a wrong account violates: I12 for estimated figures, I2 for exact figures.
func (w *world) rule(want *account) string {
	if want.flagged {
		return "I12 estimate"
	}
	return "I2"
}
