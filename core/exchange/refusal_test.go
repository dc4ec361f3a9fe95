package exchange_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

func completion(model string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}`
}

const ourCompletion = `{"quality":"cheap","messages":[{"role":"user","content":"Hello"}]}`

// refused is a completion that a provider refuses with an error in OpenAI's shape.
func refused(t *testing.T, path, body string, status uint64, message string) *host {
	return request{path: path, body: body, provider: [][]abi.Event{whole(status, `{"error":{"message":`+message+`}}`)}}.run(t)
}

func TestProviderErrorIsExplained(t *testing.T) {
	h := refused(t, "/api/ai/complete", ourCompletion, 500, `"no room"`)
	equal(t, "the status", h.status(), 502)
	want(t, "our answer to a 500", h.answered(), `"code":"provider_error"`, `"field":"provider","message":"openai returned 500"}`)
	h = refused(t, "/api/ai/complete", ourCompletion, 400, `"a\u0001b\u007fc é ~ d\n"`)
	equal(t, "the status", h.status(), 502)
	want(t, "our answer to a 400", h.answered(), `"code":"provider_rejected"`, `"message":"openai returned 400: a b c é ~ d "}`)
	want(t, "our answer to a 400 without words", refused(t, "/api/ai/complete", ourCompletion, 400, `""`).answered(), `"message":"openai returned 400"}`)

	h = refused(t, "/v1/chat/completions", hello, 400, `"no such thing"`)
	equal(t, "the status", h.status(), 400)
	want(t, "the answer to a 400", h.answered(), `"message":"no such thing"`)
	h = refused(t, "/v1/chat/completions", hello, 500, `"no room"`)
	equal(t, "the status", h.status(), 502)
	want(t, "the answer to a 500", h.answered(), `"message":"Provider error"`)
}

func TestProvidersWordsHideWhatIsSecret(t *testing.T) {
	shown := func(model, message string) bool {
		return strings.Contains(refused(t, "/v1/chat/completions", completion(model), 400, `"mark `+message+`"`).answered(), "mark")
	}
	long := strings.Repeat("x", 595)
	for _, c := range []struct {
		model, message string
		shown          bool
	}{
		{"gpt", "plain words", true},
		{"gpt", "your key " + openaiSecret, false},
		{"house", "words of a provider without a key", true},
		{"house", "words for " + tenant, false},
		{"house", "a zone is no secret: eu", true},
		{"gpt", long, true},
		{"gpt", long + "y", false},
	} {
		equal(t, c.model+"'s words "+c.message+" are shown", shown(c.model, c.message), c.shown)
	}
}

func TestProvidersWordsAreHiddenWhereTheProjectsKeyWasUsed(t *testing.T) {
	own := &doc.Policy{Version: 2, ProviderKeys: []doc.ProviderKey{{Provider: "openai", KeyID: "m1", Sealed: []byte("sealed")}}}
	h := request{path: "/v1/chat/completions", body: hello, policy: own, provider: [][]abi.Event{whole(400, `{"error":{"message":"mark"}}`)}}.run(t)
	equal(t, "the status", h.status(), 400)
	if strings.Contains(h.answered(), "mark") {
		t.Errorf("the provider's words are shown: %s", h.answered())
	}
	equal(t, "the key of the fetch", valueOf(h.one(abi.ActionFetch).Headers, "authorization"), "Bearer key-of-the-project")
}

func TestUnknownModelIsNamedWithThoseThatWouldDo(t *testing.T) {
	send := func(policy *doc.Policy) *host {
		return request{path: "/v1/chat/completions", body: completion("gpd"), policy: policy}.run(t)
	}
	h := send(nil)
	equal(t, "the status", h.status(), 404)
	want(t, "the answer", h.answered(), "is not in the catalog; nearest allowed: gpt")
	h = send(&doc.Policy{Version: 2, Models: []string{"claude"}})
	equal(t, "the status with a policy", h.status(), 404)
	want(t, "the answer with a policy", h.answered(), "nearest allowed: claude")
	if strings.Contains(h.answered(), "gpt") {
		t.Errorf("the answer names a model that the project does not allow: %s", h.answered())
	}
	// A body that is wrong otherwise needs no policy.
	bad := request{path: "/v1/chat/completions", body: "{", policy: &doc.Policy{Version: 2}}.run(t)
	equal(t, "reads for a bad body", len(bad.all(abi.ActionRead)), 1)
}

func TestForbiddenModelIsNamedWithThoseThatAreAllowed(t *testing.T) {
	onlyMini := func(r *doc.Record) { r.Models = []string{"mini"} }
	h := request{path: "/v1/chat/completions", body: hello, record: onlyMini}.run(t)
	equal(t, "the status", h.status(), 403)
	want(t, "the answer", h.answered(), "is not allowed for this key; nearest allowed: mini")
	count := told[*keymeter.Admit](h)[0]
	equal(t, "the mode of the admission", count.Mode, keymeter.ModeCount)
	equal(t, "the status of its trace", count.Trace.Status, 403)
}

func TestForbiddenModelIsAllowedByANewerRecord(t *testing.T) {
	versions := 0
	record := func(r *doc.Record) {
		if versions++; versions == 1 {
			r.Models = []string{"mini"}
		}
	}
	q := request{path: "/v1/chat/completions", body: hello, record: record, provider: [][]abi.Event{whole(200, goodAnswer)}}
	newer := host{request: &request{}, t: t}
	q.verdicts = []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer.recordAt(6)}}
	h := q.run(t)
	equal(t, "the status", h.status(), 200)
	equal(t, "admissions", len(told[*keymeter.Admit](h)), 2)
	// What is wrong with the body stays wrong.
	q.body, q.verdicts = "{", []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer.recordAt(6)}}
	equal(t, "the status of a bad body", q.run(t).status(), 400)
}

func TestStaleRecordStartsAnewWithItsPolicy(t *testing.T) {
	// The newer record names another version of the policy.
	newer := (&host{request: &request{policy: &doc.Policy{Version: 3}}, t: t}).recordAt(6)
	h := request{
		path: "/v1/chat/completions", body: hello, policy: &doc.Policy{Version: 2},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}}, provider: [][]abi.Event{whole(200, goodAnswer)},
	}.run(t)
	var read []string
	for _, a := range h.all(abi.ActionRead) {
		if strings.HasPrefix(a.Key, "policy/") {
			read = append(read, a.Key)
		}
	}
	equal(t, "the policies that were read", strings.Join(read, " "), doc.PolicyKey("prj_1", 2)+" "+doc.PolicyKey("prj_1", 3))
	// One that names the same version does not read it again.
	newer = (&host{request: &request{policy: &doc.Policy{Version: 2}}, t: t}).recordAt(6)
	h = request{
		path: "/v1/chat/completions", body: hello, policy: &doc.Policy{Version: 2},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}}, provider: [][]abi.Event{whole(200, goodAnswer)},
	}.run(t)
	equal(t, "reads with the same policy", len(h.all(abi.ActionRead)), 2)
}

func TestAbsorbThatFailsMakesNoFalse402(t *testing.T) {
	short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
	send := func(outcome uint64) uint64 {
		return request{
			path: "/v1/chat/completions", body: hello, verdicts: []*keymeter.AdmitReply{short}, absorbed: outcome,
			grants: []ledger.GrantReply{{Recall: []string{"meter-2"}, Next: "meter-2"}},
		}.run(t).status()
	}
	equal(t, "the status if other keys gave back nothing", send(abi.OutcomeOK), 402)
	equal(t, "the status if nobody knows", send(abi.OutcomeFailed), 503)
}

func TestUsageIsOfOnesOwnProjectAndAKnownPeriod(t *testing.T) {
	send := func(query string) *host { return request{method: "GET", path: "/api/usage", query: query}.run(t) }
	for query, status := range map[string]uint64{
		"projectId=prj_1": 200, "projectId=prj_1&period=day": 200, "projectId=prj_1&period=week": 200, "projectId=prj_1&period=month": 200,
		"projectId=prj_1&period=year": 400, "projectId=prj_2": 403, "": 400, "period=year": 400, "projectId=prj_2&period=year": 403, "x=prj_1": 400,
	} {
		equal(t, "the status of "+query, send(query).status(), status)
	}
	want(t, "the answer without a project", send("").answered(), `"field":"projectId","message":"is required"`)
	want(t, "the week", send("projectId=prj_1&period=week").answered(), `"start":"2026-11-16T00:00:00.000Z","end":"2026-11-23T00:00:00.000Z"`)
}

func TestUsageNamesModelsWithRequestsOrCost(t *testing.T) {
	h := request{method: "GET", path: "/api/usage", query: "projectId=prj_1", report: ledger.ReportReply{
		BudgetPico: 5, UsedPico: 7,
		Models: []ledger.Usage{{Model: "asked", Requests: 1}, {Model: "paid", CostPico: 1e12}, {Model: "hit", Hits: 1, Misses: 2}},
	}}.run(t)
	want(t, "the answer", h.answered(), `"models":{"asked":{"requests":1,"tokens":0,"cost":0},"paid":{"requests":0,"tokens":0,"cost":1}}`,
		`"hits":1,"misses":2,"hitRate":33.33`, `"remaining":0}`)
	want(t, "the answer without any", request{method: "GET", path: "/api/usage", query: "projectId=prj_1"}.run(t).answered(), `"hitRate":0`)
}

func TestPolicyOfTheLedger(t *testing.T) {
	ask := func(authority *doc.Policy) *host {
		return request{path: "/v1/chat/completions", body: hello, record: func(r *doc.Record) { r.Policy = 4 }, authority: authority, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	}
	kept := func(h *host) (n int) {
		for _, a := range h.all(abi.ActionWrite) {
			if a.Key == doc.PolicyKey("prj_1", 4) {
				n++
			}
		}
		return n
	}
	equal(t, "the status without one", ask(nil).status(), 503)
	equal(t, "the status with an older one than the record's", ask(&doc.Policy{Version: 3}).status(), 503)
	same, newer := ask(&doc.Policy{Version: 4}), ask(&doc.Policy{Version: 5})
	equal(t, "the status with the record's", same.status(), 200)
	equal(t, "how often that is kept", kept(same), 1)
	equal(t, "the status with a newer one", newer.status(), 200)
	equal(t, "how often that is kept", kept(newer), 0)
}

func TestOnlyAKeyThatNobodyKnowsIsRememberedAsUnknown(t *testing.T) {
	forgotten := func(stranger bool, verdict keymeter.Verdict) *abi.Action {
		h := request{path: "/v1/chat/completions", body: hello, stranger: stranger, verdicts: []*keymeter.AdmitReply{{Verdict: verdict}}}.run(t)
		equal(t, "the status", h.status(), 401)
		return h.one(abi.ActionWrite)
	}
	unknown := forgotten(true, keymeter.Unknown)
	equal(t, "how long an unknown one is remembered", unknown.KeepMs, 10_000)
	equal(t, "the parts of what is remembered", len(unknown.Body), 1)
	for _, known := range []*abi.Action{forgotten(true, keymeter.Inactive), forgotten(false, keymeter.Unknown), forgotten(false, keymeter.Inactive)} {
		equal(t, "the parts of what is remembered of another", len(known.Body), 0)
	}
	// Its meter may have the record that KV does not have yet.
	newer := (&host{request: &request{}, t: t}).recordAt(6)
	h := request{path: "/v1/chat/completions", body: hello, stranger: true, verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}},
		provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	equal(t, "the status of a key that its meter knows", h.status(), 200)
}

func TestStaleRecordLooksIntoTheCacheAnew(t *testing.T) {
	newer := (&host{request: &request{record: caching}, t: t}).recordAt(6)
	h := request{path: "/v1/chat/completions", body: hello, record: caching, verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}},
		provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	var looks, cancelled []uint64
	for _, a := range h.all(abi.ActionRead) {
		if strings.HasPrefix(a.Key, "cache/") && a.Where == abi.WhereKV {
			looks = append(looks, a.ID)
		}
	}
	for _, a := range h.all(abi.ActionCancel) {
		cancelled = append(cancelled, a.ID)
	}
	if len(looks) != 2 || !slices.Equal(cancelled, looks[:1]) {
		t.Errorf("of the looks %v are cancelled %v, not the first", looks, cancelled)
	}
	equal(t, "the status", h.status(), 200)
}
