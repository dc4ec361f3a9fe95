package sim_test

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// guardedCalls is the number of calls of objects from which on an exchange may give up. askableKeys is the number of keys
// of which it can recall everything twice with fewer calls.
const (
	guardedCalls = 33
	askableKeys  = 10
)

// guarded reports whether a request may have been refused because it has made too many calls. Without competitors, this
// must not happen (I11).
func (x *exchange) guarded() bool {
	s := &x.history
	if s.status != 503 || s.calls < guardedCalls || s.resv != nil || s.failed {
		return false
	}
	x.w.stats.Guarded++
	if len(x.w.keys) <= askableKeys && !x.contended() && !x.outbidByStream() {
		x.w.fail("I11 guard", "%s made %d calls for its budget", x.id, s.calls)
	}
	return true
}

// countCall counts the calls for budget: for the admission, or for the present extension of a stream.
func (x *exchange) countCall(a *abi.Action) {
	yes, total := reserves(a)
	s := &x.history
	if !x.request.completion || !yes || s.resv != nil && total == 0 && s.extension == 0 || !x.inTree() {
		return
	}
	if total != 0 && total != s.extension {
		s.calls, s.extension = 0, total
	}
	s.calls++
}

// ledgerFunds returns the row of a node's Ledger. ok is false if there is none.
func (n *node) ledgerFunds() (f funds, ok bool) {
	if n.key != nil {
		return f, false
	}
	o := n.w.object(abi.ClassLedger, n.id)
	at, ok := o.find("b")
	if ok {
		f = readFunds(o.rows[at].Value)
	}
	return f, ok
}

// shares calls visit with each meter's share of the present period in a node's Ledger.
func (n *node) shares(visit func(k *key, granted, spent int64)) {
	f, _ := n.ledgerFunds()
	rows, _ := n.w.object(abi.ClassLedger, n.id).Read(abi.Range{Start: "k/", End: "k0", Limit: 1000})
	for _, row := range rows {
		if period, granted, spent := readShare(row.Value); period == f.period {
			visit(n.w.byHash[strings.TrimPrefix(row.Key, "k/")], granted, spent)
		}
	}
}

// compareSpending compares the Ledgers of the groups with the spending below them. No group keeps a share of a key
// that is no longer below it.
func (w *world) compareSpending() {
	for _, g := range w.nodes {
		f, ok := g.ledgerFunds()
		if !ok || g.jumped || w.isProject(g) {
			continue
		}
		first, _ := f.period.Bounds()
		for start, t := range g.periods {
			if want := t.spent; start > first && want != 0 || start == first && want != f.spent {
				w.fail("I2 level", "%s has spent %d since day %d, its Ledger has %d since day %d", g.id, want, start, f.spent, first)
			}
		}
		g.shares(func(k *key, granted, spent int64) {
			below := slices.ContainsFunc(k.state().record.Chain, func(n doc.Node) bool { return n.Ledger() == g.id })
			if !below && granted > spent {
				w.fail("I13 level", "%s: %s still has %d more than it has spent, but is no longer below", g.id, k.id, granted-spent)
			}
		})
	}
}

// recallAll makes all meters return what they hold of the groups' budgets.
func (w *world) recallAll() {
	for _, k := range w.keys {
		for _, g := range w.nodes {
			if w.isProject(g) || g.key != nil {
				continue
			}
			command := keymeter.Flush{Recall: true, Ledger: g.id}
			reply, _ := w.object(abi.ClassKeyMeter, k.hash).call(command.Encode())
			f, err := keymeter.DecodeFlushReply(reply)
			if err != nil || f.Open > 0 || f.LentMs > 0 {
				w.fail("I13 level", "%s still has %d reservations, or incomplete ones for %d ms, of %s", k.id, f.Open, f.LentMs, g.id)
			}
		}
	}
}

// checkUncommitted checks that every level's Ledger has nothing committed that is not spent.
func (w *world) checkUncommitted() {
	for _, n := range w.nodes {
		f, ok := n.ledgerFunds()
		if _, end := f.period.Bounds(); !ok || n.jumped || end <= w.now/dayMs {
			continue // all slices have lapsed
		}
		if f.committed != f.spent {
			w.fail("I13 level", "the Ledger of %s has committed %d and spent %d", n.id, f.committed, f.spent)
		}
		n.shares(func(k *key, granted, spent int64) {
			if granted > spent {
				w.fail("I13 level", "%s: %s still has %d more than it has spent", n.id, k.id, granted-spent)
			}
		})
	}
}

// traceLedger adds the grants and reports of a Ledger to the trace.
func (w *world) traceLedger(o *object, command, reply []byte) {
	if w.trace == nil || len(command) == 0 {
		return
	}
	switch c := ledger.Open(command).(type) {
	case *ledger.Grant:
		r, _ := ledger.DecodeGrantReply(reply)
		w.logf("%s: grant for %s: epoch %d, held %d, need %d, least %d: granted %t, total %d in epoch %d, final %t, spent %t, recall %d", o.name, w.byHash[c.Key].id, c.Epoch, c.HeldPico, c.NeedPico, c.LeastPico, r.Granted, r.TotalPico, r.Epoch, r.Final, r.Spent, len(r.Recall))
	case *ledger.Return:
		w.logf("%s: return of %s: epoch %d, held %d, spent %d", o.name, w.byHash[c.Key].id, c.Epoch, c.HeldPico, c.SpentPico)
	}
}

// traceFlush adds a recall to the trace.
func (k *key) traceFlush(command, reply []byte) {
	if f, ok := keymeter.Open(command).(*keymeter.Flush); k.w.trace != nil && ok {
		r, _ := keymeter.DecodeFlushReply(reply)
		k.w.logf("%s: recall %t by %q, held %d: %d batches, return %t, wait %d ms", k.id, f.Recall, f.Ledger, f.HeldPico, len(r.Absorbs), len(r.Return) > 0, r.LentMs)
	}
}

// isProject reports whether a node is a project's own budget in dollars.
func (w *world) isProject(n *node) bool {
	return slices.ContainsFunc(w.projects, func(p *project) bool { return n == &p.node })
}

// compareOwn compares the keys' own budgets at their meters with what the keys have spent.
func (w *world) compareOwn() {
	for _, k := range w.keys {
		o := w.object(abi.ClassKeyMeter, k.hash)
		at, ok := o.find("h")
		if !ok || len(k.own) == 0 {
			continue
		}
		levels, _, err := keymeter.LevelsOf(o.rows[at].Value)
		if err != nil {
			w.fail("host", "the row of %s is malformed", k.id)
		}
		for _, n := range k.own {
			name := doc.LedgerName(keymeter.OwnLevel, n.unit)
			at := slices.IndexFunc(levels, func(l keymeter.LevelState) bool { return l.Ledger == name && !l.Former })
			if at < 0 {
				w.fail("I2 level", "%s: its meter has no budget %s", k.id, name)
				continue
			}
			l := &levels[at]
			first, _ := l.Period.Bounds()
			if t := n.periods[first]; !n.jumped && (t == nil && l.Spent != 0 || t != nil && l.Spent != t.spent) || l.ReservedPico != 0 {
				w.fail("I2 level", "%s: its meter has spent %d and reserved %d of %s", k.id, l.Spent, l.ReservedPico, name)
			}
		}
	}
}
