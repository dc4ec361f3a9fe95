package sim_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// judge is I11 and what goes with it: whether an answer is owed.
func (x *exchange) judge() {
	s := &x.story
	switch s.status {
	case 200:
		x.judgeAnswer()
	case 400:
		x.owed(x.item.Bad == "body" || x.rejected(), "the request is well formed")
	case 401:
		x.owed(x.item.Bad == "malformed" || x.item.Bad == "key" || x.someState(func(st *keyState) bool { return !st.active(x.w.now) }), "the key was active all the time")
	case 402: // is judged when it is known who got what there was
	case 403:
		x.owed(x.asks.named && x.somePermits(func(models []*config.Model) bool { return len(models) == 0 }), "the key was allowed a model all the time")
	case 404:
		x.owed(len(x.targets()) == 0, "the model is in the catalog")
	case 409, 422:
		x.owed(x.item.Idem != "", "there is no twin")
	case 415:
		x.owed(x.item.Bad == "type", "it is JSON")
	case 429:
		x.owed(s.limited || x.item.Bad == "key", "no window was full")
	case 503:
		if !s.failed && !x.noneReady() && !x.contended() {
			x.w.fail("I11 503 alone", "%s is answered with 503 %s: no part was made to fail, and nobody else asked for money", x.id, s.code)
		}
		x.owed(s.failed || x.noneReady(), "no part was made to fail")
	case 502, 504:
		x.owed(x.isolate.jumped || slices.ContainsFunc(s.fetches, func(f *fetch) bool {
			return f.status != 200 || f.does.Fault != "" || f.does.Lie != "" || x.item.JSON && !f.does.JSON
		}), "every provider answered")
	default:
		x.w.fail(fmt.Sprint("I11 ", s.status), "%s is answered with %d", x.id, s.status)
	}
}

// judgeTime: a whole answer, or an error, comes within the time that the route has for all attempts.
func (x *exchange) judgeTime() {
	limit := worldConfig.RequestMsOf(worldConfig.Tier(x.asks.model))
	if at := x.story.fetchedAt; at != 0 && x.w.now > at+limit && !x.isolate.jumped {
		x.w.fail("I13", "%s is answered %d ms after its first attempt began, of %d", x.id, x.w.now-at, limit)
	}
}

func (x *exchange) owed(ok bool, because string) {
	if !ok {
		x.w.fail(fmt.Sprint("I11 ", x.story.status), "%s is answered with %d %s: %s", x.id, x.story.status, x.story.code, because)
	}
}

func (st *keyState) active(now uint64) bool {
	// A clock may be off by some seconds, and a jump makes it anything: expiry is judged at the meter.
	return st.status == doc.Active && (st.record.ExpiresMs == 0 || st.record.ExpiresMs > now+2*hourMs)
}

func (x *exchange) someState(f func(*keyState) bool) bool {
	states := x.key.statesSince(x.story.arrivedAt)
	for i := range states {
		if f(&states[i]) {
			return true
		}
	}
	return len(states) == 0
}

// policiesOf are the project's policies that may be applied in a state of the key: the one that it names, or a newer
// one, which the Ledger hears of before the key's meter does.
func (x *exchange) policiesOf(st *keyState) []doc.Policy {
	if st.record.Policy == 0 {
		return []doc.Policy{{}}
	}
	return slices.DeleteFunc(slices.Clone(x.project.policies), func(p doc.Policy) bool { return p.Version < st.record.Policy })
}

// permitted are the models that a request may go to in a state of its key and with a policy: of the project's own
// route, if it has one, and as the lists of the key and the project allow.
func (x *exchange) permitted(st *keyState, policy *doc.Policy) []*config.Model {
	targets := x.targets()
	if route := policy.Route(x.asks.model); route != nil && worldConfig.Tier(x.asks.model) != nil && x.item.Path != "embed" {
		targets = nil
		for _, t := range route.Targets {
			targets = append(targets, worldConfig.Model(t.Model))
		}
	}
	listed := func(list []string, m *config.Model) bool {
		return len(list) == 0 || slices.Contains(list, x.asks.model) || slices.Contains(list, m.Name)
	}
	return slices.DeleteFunc(targets, func(m *config.Model) bool { return !listed(st.record.Models, m) || !listed(policy.Models, m) })
}

// somePermits says whether in some state since the arrival, with some policy, what was permitted is as f says.
func (x *exchange) somePermits(f func([]*config.Model) bool) bool {
	return x.someState(func(st *keyState) bool {
		return slices.ContainsFunc(x.policiesOf(st), func(p doc.Policy) bool { return f(x.permitted(st, &p)) })
	})
}

// noneReady: no target has credentials and is allowed.
func (x *exchange) noneReady() bool {
	return x.somePermits(func(models []*config.Model) bool {
		return !slices.ContainsFunc(models, func(m *config.Model) bool { return m.Provider.Ready })
	})
}

// rejected: a provider has refused the request itself.
func (x *exchange) rejected() bool {
	return slices.ContainsFunc(x.story.fetches, func(f *fetch) bool { return f.status == 400 || f.status == 413 || f.status == 422 })
}

// dispatched is I8: the model that is asked is one that was asked for, and allowed.
func (x *exchange) dispatched(f *fetch) {
	w := x.w
	if !x.somePermits(func(models []*config.Model) bool { return slices.Contains(models, f.model) }) {
		w.fail("I8", "%s asked for %s, and %s is asked, which was not allowed at any time", x.id, x.asks.model, f.model.Name)
	}
	if x.key.value[:8] == keys.Prefix(keys.Gateway, keys.Development) {
		w.fail("I8", "%s: a development key's request is dispatched", x.id)
	}
	if x.item.Bad != "" {
		w.fail("I9", "%s: a bad request (%s) is dispatched", x.id, x.item.Bad)
	}
	if x.asks.completion && x.story.resv == nil {
		w.fail("I9", "%s: it is dispatched without an admission", x.id)
	}
}

// unsure: a jump of the objects' clocks may begin a budget anew at one of them only.
func (w *world) unsure(x *exchange) bool { return x.project.jumped }

// judgeAnswer checks where an answer is from: I5, and replays.
func (x *exchange) judgeAnswer() {
	if !x.asks.completion || x.key.test() || x.item.Bad != "" {
		return
	}
	n, project, ok := markIn(x.story.body)
	if !ok {
		x.w.fail("I2", "%s: an answer that no provider gave: %.200s", x.id, x.story.body)
	}
	f := x.w.fetches[n]
	if project != x.projectNumber() {
		x.w.fail("I5", "%s of project %d got an answer that was made for project %d", x.id, x.projectNumber(), project)
	}
	switch {
	case f.x == x:
		if x.story.hit || x.story.replayed {
			x.w.fail("I5", "%s: its own answer is called an old one", x.id)
		}
	case x.story.replayed:
		twin := x.item.Idem != "" && f.x.item.Idem == x.item.Idem && (f.x.key == x.key || f.x.key.successor == x.key)
		if !twin && !f.x.cachedTo(x) {
			x.w.fail("I5", "%s: the answer of %s is replayed", x.id, f.x.id)
		}
	default:
		x.judgeHit(f)
	}
}

// cachedTo: a replay may be of an answer that came from the cache.
func (x *exchange) cachedTo(o *exchange) bool {
	return x.project == o.project && x.item.Prompt == o.item.Prompt
}

func (x *exchange) judgeHit(f *fetch) {
	a, b := x.item, f.x.item
	fail := func(why string) { x.w.fail("I5", "%s has an answer of %s: %s", x.id, f.x.id, why) }
	switch {
	case !x.story.hit && !x.opened:
		fail("it is not called cached")
	case a.Prompt != b.Prompt || a.Words != b.Words || a.Model != b.Model || a.JSON != b.JSON || a.N != b.N || a.Max != b.Max && a.Path != "embed":
		fail("that was another request")
	case !f.clean:
		if f.does.Lie != "" {
			x.w.fail("I12 estimate", "%s has an answer of %s, whose usage is no usage (%s)", x.id, f.x.id, f.does.Lie)
			return
		}
		fail("that was not clean and complete")
	case f.x.key.test() != x.key.test():
		fail("one of the two is in test mode")
	case a.Cache == "no-cache" || a.Cache == "no-store" || b.Cache == "no-store":
		fail("that was forbidden")
	}
}

// markIn finds the mark of a fetch.
func markIn(body []byte) (n, project int, ok bool) {
	for rest := body; ; {
		_, after, found := bytes.Cut(rest, []byte("zq"))
		if !found {
			return markInVector(body)
		}
		rest = after
		first, second, found := bytes.Cut(after[:min(len(after), 24)], []byte("x"))
		last, _, closed := bytes.Cut(second, []byte("z"))
		a, err := strconv.Atoi(string(first))
		b, err2 := strconv.Atoi(string(last))
		if found && closed && err == nil && err2 == nil {
			return a, b, true
		}
	}
}

func markInVector(body []byte) (n, project int, ok bool) {
	_, after, found := bytes.Cut(body, []byte(`"embedding":[`))
	if !found {
		return 0, 0, false
	}
	_, err := fmt.Sscanf(string(after[:min(len(after), 40)]), "%d,%d,", &n, &project)
	return n, project, err == nil
}

// judgeStream: a stream's success mark only comes when the provider's answer is whole.
func (x *exchange) judgeStream(whole bool) {
	fetches := x.story.fetches
	if len(fetches) == 0 {
		return // cached
	}
	last := fetches[len(fetches)-1]
	if whole && !last.ended {
		x.w.fail("I13", "%s: the stream ends as if it was whole", x.id)
	}
	if whole {
		x.judgeAnswer()
	} else if bytes.Contains(x.story.body, []byte("budget_exceeded")) || bytes.Contains(x.story.body, []byte("Budget exceeded")) {
		x.judgeCut(last)
	}
}

// judgeCut: a stream that is cut for money had none to go on. Judged only where nobody else can have had it.
func (x *exchange) judgeCut(f *fetch) {
	if x.w.unsure(x) || x.contended() || x.story.resv == nil {
		return
	}
	need := costOf(f.model, f.prompt, f.seen+256+64) - x.story.resv.amount
	free := int64(1) << 62
	for _, l := range x.project.free[max(0, x.story.freeFrom):] {
		free = min(free, l.free)
	}
	if free > need {
		x.w.fail("I11 cut", "%s is cut for money: %d more would have done, and at least %d were free all the time", x.id, need, free)
	}
}

// ended checks that an exchange that comes to its end has settled what it reserved.
func (x *exchange) ended() {
	s := &x.story
	if !x.dead && s.resv != nil && !s.settled && !s.failed && !s.shaky {
		x.w.fail("I13", "%s ends, and has not settled", x.id)
	}
}

// contended: others of its project asked for money while it did.
func (x *exchange) contended() bool {
	c := x.story.claim
	return slices.ContainsFunc(x.w.exchanges, func(o *exchange) bool {
		return o != x && o.project == x.project && o.story.claim.from != 0 && o.story.claim.from <= c.until && (o.story.claim.until == 0 || o.story.claim.until >= c.from)
	})
}
