package sim_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// checkStatus checks I11: the response's status must be justified.
func (x *exchange) checkStatus() {
	s := &x.history
	x.checkGoverned()
	switch s.status {
	case 200:
		x.checkOrigin()
	case 400:
		x.justified(x.item.Bad == "body" || x.rejected() || x.noneCompacts(), "the request is well formed")
	case 401:
		x.justified(x.item.Bad == "malformed" || x.item.Bad == "key" || x.someState(func(st *keyState) bool { return !st.active(x.w.now) }), "the key was active all the time")
	case 402: // checked at the end, when all reservations are known
	case 403:
		x.justified(x.request.named && x.somePermits(func(models []*config.Model) bool { return len(models) == 0 }), "the key was allowed a model all the time")
	case 404:
		x.justified(len(x.targets()) == 0, "the model is in the catalog")
	case 409, 422:
		x.justified(x.item.Idem != "" || x.answeredBlocked(), "no request shares its idempotency key")
		if s.status == 409 {
			x.checkConflict()
		}
	case 415:
		x.justified(x.item.Bad == "type", "the content type is JSON")
	case 429:
		unknown := x.item.Bad == "key" || x.someState(func(st *keyState) bool { return st.status == doc.Removed })
		if s.usedUp = !s.limited && !unknown && x.counted(); s.usedUp {
			return // checked at the end
		}
		x.justified(s.limited || unknown, "no window was full")
	case 503:
		if x.outlived() {
			return
		}
		if slices.ContainsFunc(s.followed, func(o *exchange) bool { return o.dead || o.history.failed }) {
			return
		}
		if x.guarded() {
			return
		}
		if !s.failed && !x.noneReady() && !x.contended() {
			x.w.fail("I11 503 alone", "%s got 503 %s without an injected fault or a competing reservation", x.id, s.code)
		}
		x.justified(s.failed || x.noneReady() || x.inTree() && x.contended(), "no fault was injected into a dependency")
	case 502, 504:
		x.justified(x.isolate.jumped || x.waitedInVain() || x.isolate.rate != 0 || slices.ContainsFunc(x.calls(), func(f *fetch) bool {
			return f.status != 200 || f.behavior.Fault != "" || f.behavior.Lie != "" || x.item.JSON && !f.behavior.JSON
		}), "every provider responded correctly")
	default:
		x.w.fail(fmt.Sprint("I11 ", s.status), "%s got %d", x.id, s.status)
	}
}

// outlived reports whether the period of a stream's reservation has ended, or its project has moved. From then on, the
// reservation can grow only by the part of that period's budget that the key still holds. After a jump of the meter's
// clock, the reservation may have expired.
func (x *exchange) outlived() bool {
	v := x.history.resv
	return v != nil && x.streaming() != nil && (x.key.jumped > 0 || !slices.Equal(v.places, x.key.present()))
}

// waitedInVain reports whether the exchange has waited for a provider's content for three quarters of the time that
// all attempts may take. At first, it waited as a follower in a flight. Such an exchange may fail instead of starting
// a new attempt.
func (x *exchange) waitedInVain() bool {
	limit := worldConfig.RequestMsOf(worldConfig.Tier(x.request.model))
	return len(x.history.followed) > 0 && x.w.now >= x.history.arrivedAt+limit-limit/4 &&
		!slices.ContainsFunc(x.calls(), func(f *fetch) bool { return f.content })
}

// calls returns the fetches whose results the exchange may have. These are its own fetches and those of the flights
// that it followed.
func (x *exchange) calls() []*fetch {
	all := slices.Clone(x.history.fetches)
	for _, leader := range x.history.followed {
		all = append(all, leader.history.fetches...)
	}
	return all
}

// checkDeadline checks I13: a complete response or an error must be sent within the route's total time for all
// attempts.
func (x *exchange) checkDeadline() {
	limit := worldConfig.RequestMsOf(worldConfig.Tier(x.request.model))
	if at := x.history.fetchedAt; at != 0 && x.w.now > at+limit && !x.isolate.jumped && (x.isolate.rate == 0 || x.w.now > at+limit*21/20) {
		x.w.fail("I13", "%s ended %d ms after its first attempt began, limit %d ms", x.id, x.w.now-at, limit)
	}
}

func (x *exchange) justified(ok bool, because string) {
	if !ok {
		x.w.fail(fmt.Sprint("I11 ", x.history.status), "%s got %d %s: %s", x.id, x.history.status, x.history.code, because)
	}
}

func (st *keyState) active(now uint64) bool {
	// Clocks differ by seconds. After a jump, they differ by more. The meter checks the exact expiry.
	return st.status == doc.Active && (st.record.ExpiresMs == 0 || st.record.ExpiresMs > now+2*hourMs)
}

func (x *exchange) someState(f func(*keyState) bool) bool {
	states := x.key.statesSince(x.history.arrivedAt)
	if v := x.history.resv; v != nil && v.lease != nil {
		states = append(slices.Clone(states), x.key.statesSinceVersion(v.lease.version)...)
	}
	for i := range states {
		if f(&states[i]) {
			return true
		}
	}
	return len(states) == 0
}

// policiesOf returns the project policies that may apply in a state of the key. They are the policy that the key's
// record names and all newer ones, because the Ledger receives a policy before the meter does.
func (x *exchange) policiesOf(st *keyState) []doc.Policy {
	if st.record.Policy == 0 {
		return []doc.Policy{{}}
	}
	return slices.DeleteFunc(slices.Clone(x.project.policies), func(p doc.Policy) bool { return p.Version < st.record.Policy })
}

// permitted returns the models that may serve a request in a state of its key and under a policy. They are the
// targets of the tier. If the project's route overrides the tier, they are the targets of that route. The allowlists
// of the key and the project restrict them.
func (x *exchange) permitted(st *keyState, policy *doc.Policy) []*config.Model {
	targets := x.targets()
	if route := policy.Route(x.request.model); route != nil && worldConfig.Tier(x.request.model) != nil && x.item.Path != "embed" {
		targets = nil
		for _, t := range route.Targets {
			targets = append(targets, worldConfig.Model(t.Model))
		}
	}
	listed := func(list []string, m *config.Model) bool {
		return len(list) == 0 || slices.Contains(list, x.request.model) || slices.Contains(list, m.Name)
	}
	return slices.DeleteFunc(targets, func(m *config.Model) bool { return !listed(st.record.Models, m) || !listed(policy.Models, m) })
}

// somePermits reports whether f accepts the models that were permitted under some policy in some state since the
// arrival.
func (x *exchange) somePermits(f func([]*config.Model) bool) bool {
	return x.someState(func(st *keyState) bool {
		return slices.ContainsFunc(x.policiesOf(st), func(p doc.Policy) bool { return f(x.permitted(st, &p)) })
	})
}

// noneReady reports whether no permitted target had credentials.
func (x *exchange) noneReady() bool {
	return x.somePermits(func(models []*config.Model) bool {
		return !slices.ContainsFunc(models, func(m *config.Model) bool { return m.Provider.Ready })
	})
}

// noneCompacts reports whether the request is a compaction, but no permitted target's provider serves compactions.
func (x *exchange) noneCompacts() bool {
	return x.item.Path == "compact" && x.somePermits(func(models []*config.Model) bool {
		return !slices.ContainsFunc(models, func(m *config.Model) bool { return m.Provider.Serves(config.ServesCompact) })
	})
}

// apis are the URL suffixes at which a model with several APIs is called. The keys are the callers' paths. For other
// paths, the first API is used.
var apis = map[string]string{"responses": "/responses", "anthropic": "/messages", "compact": "/responses/compact"}

// checkAPI checks which API of a model is called. If the model has the API that the caller used, it must be that one.
func (x *exchange) checkAPI(f *fetch, url string) {
	want := apis[x.item.Path]
	if want == "" {
		want = "/chat/completions"
	}
	if (len(f.model.Others) > 0 || x.item.Path == "compact") && !strings.HasSuffix(url, want) {
		x.w.fail("I8 API", "%s: a request on %s goes to %s", x.id, x.item.Path, url)
	}
}

// forms lists, for each path, the strings of which a response must contain at least one.
var forms = map[string][]string{
	"openai": {`"object":"chat.completion`}, "anthropic": {`"type":"message"`, `"type":"message_start"`}, "compact": {`"object":"response.compaction"`},
	"responses": {`"object":"response"`, `"type":"response.created"`},
}

// checkForm checks that a response has the format of the caller's API. This also holds if the response was made for a
// caller of another API.
func (x *exchange) checkForm() {
	has := func(path string) bool {
		return slices.ContainsFunc(forms[path], func(text string) bool { return bytes.Contains(x.history.body, []byte(text)) })
	}
	if forms[x.item.Path] != nil && !has(x.item.Path) {
		x.w.fail("I5 form", "%s on %s got %.200s", x.id, x.item.Path, x.history.body)
	}
}

// rejected reports whether a provider rejected the request as invalid.
func (x *exchange) rejected() bool {
	return slices.ContainsFunc(x.calls(), func(f *fetch) bool { return f.status == 400 || f.status == 413 || f.status == 422 })
}

// checkDispatch checks I8, I9 and I14. The called model must have been a permitted target of the request. The request
// must be valid, admitted and not blocked.
func (x *exchange) checkDispatch(f *fetch) {
	w := x.w
	if x.blocked() {
		w.fail("I14", "%s is blocked, but %s is called", x.id, f.model.Name)
	}
	if !x.somePermits(func(models []*config.Model) bool { return slices.Contains(models, f.model) }) {
		w.fail("I8", "%s requested %s, but %s is called, which was never permitted", x.id, x.request.model, f.model.Name)
	}
	if x.key.value[:8] == keys.Prefix(keys.Gateway, keys.Development) {
		w.fail("I8", "%s: a development key's request is dispatched", x.id)
	}
	if x.item.Bad != "" {
		w.fail("I9", "%s: a bad request (%s) is dispatched", x.id, x.item.Bad)
	}
	if x.request.completion && x.history.resv == nil {
		w.fail("I9", "%s is dispatched without an admission", x.id)
	}
}

// clocksDisagree reports whether the objects' clocks have jumped. After a jump, they may disagree about the budget
// period.
func (w *world) clocksDisagree(x *exchange) bool { return x.project.jumped }

// checkOrigin checks I5: where a response or a replay comes from.
func (x *exchange) checkOrigin() {
	if !x.request.completion || x.key.test() || x.item.Bad != "" {
		return
	}
	x.checkForm()
	n, project, ok := markIn(x.history.body)
	if !ok {
		x.w.fail("I2", "%s: no provider sent this response: %.200s", x.id, x.history.body)
	}
	f := x.w.fetches[n]
	if project != x.projectNumber() {
		x.w.fail("I5", "%s of project %d got a response made for project %d", x.id, x.projectNumber(), project)
	}
	switch {
	case f.x == x:
		if x.history.hit || x.history.replayed {
			x.w.fail("I5", "%s: a fresh response is marked as cached or replayed", x.id)
		}
	case x.history.replayed:
		twin := x.item.Idem != "" && f.x.item.Idem == x.item.Idem && (f.x.key == x.key || f.x.key.successor == x.key)
		if !twin && !f.x.mayBeCached(x) {
			x.w.fail("I5", "%s: the response of %s is replayed", x.id, f.x.id)
		}
	default:
		x.checkCacheHit(f)
	}
}

// mayBeCached reports whether a replayed response may come from the cache.
func (x *exchange) mayBeCached(o *exchange) bool {
	return x.project == o.project && x.item.Prompt == o.item.Prompt
}

func (x *exchange) checkCacheHit(f *fetch) {
	a, b := x.item, f.x.item
	fail := func(why string) { x.w.fail("I5", "%s got the response of %s: %s", x.id, f.x.id, why) }
	switch {
	case !x.history.hit && !x.streamed():
		fail("it is not marked as cached")
	case a.Prompt != b.Prompt || a.Words != b.Words || a.Model != b.Model || a.JSON != b.JSON || (a.Path == "compact") != (b.Path == "compact") || a.N != b.N || a.Max != b.Max && a.Path != "embed":
		fail("the requests differ")
	case slices.Contains(x.history.followed, f.x): // a flight also carries responses that are not cached
	case !f.clean:
		if f.behavior.Lie != "" {
			x.w.fail("I12 estimate", "%s got the response of %s, whose usage is invalid (%s)", x.id, f.x.id, f.behavior.Lie)
			return
		}
		fail("it was not clean and complete")
	case f.x.key.test() != x.key.test():
		fail("only one of them is in test mode")
	case a.Cache == "no-cache" || a.Cache == "no-store" || b.Cache == "no-store":
		fail("Cache-Control forbids it")
	}
}

// markIn finds the mark of a fetch (see fetch.mark).
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

// checkStream checks I13: a stream may end with its success marker only if the provider's response is complete.
func (x *exchange) checkStream(whole bool) {
	fetches := x.history.fetches
	if len(fetches) == 0 {
		x.checkFollowed(whole)
		return
	}
	last := fetches[len(fetches)-1]
	if whole && !last.ended {
		x.w.fail("I13", "%s: a truncated stream ends with a success marker", x.id)
	}
	if whole {
		x.checkOrigin()
	} else if bytes.Contains(x.history.body, []byte("budget_exceeded")) || bytes.Contains(x.history.body, []byte("Budget exceeded")) {
		x.checkCut(last)
	}
}

// checkFollowed checks the stream of a follower. It may end with its success marker only if the provider's stream has
// ended.
func (x *exchange) checkFollowed(whole bool) {
	if !whole || len(x.history.followed) == 0 {
		return
	}
	if n, _, ok := markIn(x.history.body); ok && !x.w.fetches[n].ended {
		x.w.fail("I13", "%s: a truncated stream ends with a success marker", x.id)
	}
	x.checkOrigin()
}

// checkCut checks I11 for a stream that was cut off because the budget was too small. If another request claimed the
// budget at the same time, it checks nothing.
func (x *exchange) checkCut(f *fetch) {
	if x.w.clocksDisagree(x) || x.contended() || x.history.resv == nil {
		return
	}
	in := f.prompt
	if f.input || f.last.input {
		in = max(in, f.in)
	}
	seen := f.seen
	if f.withholds {
		seen += f.last.tokens
	}
	need := max(f.tierCost(f.asked, in, seen+256+64), f.billed(f.asked, seen+256+64)) - x.history.resv.amount
	for _, o := range x.history.fetches {
		if o != f && !o.unbilled {
			need += o.cost.high // of an earlier attempt
		}
	}
	free := int64(1) << 62
	for _, n := range x.nodes() {
		if n.unit != doc.Dollars {
			continue
		}
		for _, l := range n.free[x.freeFrom(n):] {
			free = min(free, l.unlent)
		}
	}
	if free > need {
		x.w.fail("I11 cut", "%s is cut for lack of budget: it needed %d more, and the free balance was always at least %d", x.id, need, free)
	}
}

// checkSettled checks I13: an exchange must settle its reservation before it ends.
func (x *exchange) checkSettled() {
	s := &x.history
	if !x.dead && s.resv != nil && !s.settled && !s.failed && !s.faulty {
		x.w.fail("I13", "%s ends without a settle", x.id)
	}
}

// contended reports whether another request claimed the same budget at the same time.
func (x *exchange) contended() bool {
	c := x.history.claim
	return slices.ContainsFunc(x.w.exchanges, func(o *exchange) bool {
		return o != x && o.sharesBudget(x) && o.history.claim.from != 0 && o.history.claim.from <= c.until && (o.history.claim.until == 0 || o.history.claim.until >= c.from)
	})
}
