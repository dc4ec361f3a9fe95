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

const nativeCompletion = `{"quality":"cheap","messages":[{"role":"user","content":"Hello"}]}`

// failingProvider runs a completion that the provider rejects with an error in OpenAI's format.
func failingProvider(t *testing.T, path, body string, status uint64, message string) *host {
	return request{path: path, body: body, provider: [][]abi.Event{wholeResponse(status, `{"error":{"message":`+message+`}}`)}}.run(t)
}

func TestProviderErrorDetails(t *testing.T) {
	h := failingProvider(t, "/api/ai/complete", nativeCompletion, 500, `"no room"`)
	equal(t, "status", h.status(), 502)
	contains(t, "native response to a 500", h.responseBody(), `"code":"provider_error"`, `"field":"provider","message":"openai returned 500"}`)
	h = failingProvider(t, "/api/ai/complete", nativeCompletion, 400, `"a\u0001b\u007fc é ~ d\n"`)
	equal(t, "status", h.status(), 400)
	contains(t, "native response to a 400", h.responseBody(), `"code":"provider_rejected"`, `"message":"openai returned 400: a b c é ~ d "}`)
	contains(t, "native response to a 400 without a message", failingProvider(t, "/api/ai/complete", nativeCompletion, 400, `""`).responseBody(), `"message":"openai returned 400"}`)

	h = failingProvider(t, "/v1/chat/completions", openaiRequest, 400, `"no such thing"`)
	equal(t, "status", h.status(), 400)
	contains(t, "OpenAI response to a 400", h.responseBody(), `"message":"no such thing"`)
	h = failingProvider(t, "/v1/chat/completions", openaiRequest, 500, `"no room"`)
	equal(t, "status", h.status(), 502)
	contains(t, "OpenAI response to a 500", h.responseBody(), `"message":"Provider error: provider openai returned 500"`)
}

func TestProviderMessageWithSecretsIsHidden(t *testing.T) {
	isShown := func(model, message string) bool {
		return strings.Contains(failingProvider(t, "/v1/chat/completions", completion(model), 400, `"mark `+message+`"`).responseBody(), "mark")
	}
	long := strings.Repeat("x", 595)
	for _, c := range []struct {
		model, message string
		isShown        bool
	}{
		{"gpt", "plain text", true},
		{"gpt", "your key " + openaiSecret, false},
		{"house", "from a provider without a key", true},
		{"house", "error for " + tenant, false},
		{"house", "with the public zone eu", true},
		{"gpt", long, true},
		{"gpt", long + "y", false},
	} {
		equal(t, c.model+": whether the message is shown: "+c.message, isShown(c.model, c.message), c.isShown)
	}
}

func TestProviderMessageIsHiddenWithAProjectKey(t *testing.T) {
	projectKeys := &doc.Policy{Version: 2, ProviderKeys: []doc.ProviderKey{{Provider: "openai", KeyID: "m1", Sealed: []byte("sealed")}}}
	h := request{path: "/v1/chat/completions", body: openaiRequest, policy: projectKeys, provider: [][]abi.Event{wholeResponse(400, `{"error":{"message":"mark"}}`)}}.run(t)
	equal(t, "status", h.status(), 400)
	if strings.Contains(h.responseBody(), "mark") {
		t.Errorf("the provider's message is shown: %s", h.responseBody())
	}
	equal(t, "key of the fetch", headerValue(h.one(abi.ActionFetch).Headers, "authorization"), "Bearer key-of-the-project")
}

// TestUnreadyTarget: an error about a target without credentials says what to do.
func TestUnreadyTarget(t *testing.T) {
	const overlay = `{"providers":[
		{"name":"keyed","wire":"openai","baseUrl":"https://keyed.test/v1","keyEnv":"KEYED"},
		{"name":"homeless","wire":"openai","baseUrl":"https://{HOST}/v1","settings":{"HOST":{"env":"HOST"}}},
		{"name":"unfinished","wire":"openai"}],
	"models":[
		{"name":"lock","provider":"keyed","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"nomad","provider":"homeless","input":"1","output":"1","source":"made up","date":"2026-11"},
		{"name":"draft","provider":"unfinished","input":"1","output":"1","source":"made up","date":"2026-11"}]}`
	for model, message := range map[string]string{
		"lock":  "lock cannot be used: provider keyed has no credentials; set KEYED or store a provider key in the project",
		"nomad": "nomad cannot be used: provider homeless is not configured; set HOST",
		"draft": "draft cannot be used: provider unfinished is not configured; the operator must complete its entry in the catalog",
	} {
		h := request{path: "/v1/chat/completions", body: completion(model), overlay: overlay}.run(t)
		equal(t, "status", h.status(), 503)
		contains(t, "response", h.responseBody(), message)
	}
}

func TestUnknownModelSuggestsAlternatives(t *testing.T) {
	send := func(policy *doc.Policy) *host {
		return request{path: "/v1/chat/completions", body: completion("gpd"), policy: policy}.run(t)
	}
	h := send(nil)
	equal(t, "status", h.status(), 404)
	contains(t, "response", h.responseBody(), "is not in the catalog; similar models that this key may use: gpt")
	h = send(&doc.Policy{Version: 2, Models: []string{"claude"}})
	equal(t, "status with a policy", h.status(), 404)
	contains(t, "response with a policy", h.responseBody(), "similar models that this key may use: claude")
	if strings.Contains(h.responseBody(), "gpt") {
		t.Errorf("the response suggests a model that the project does not allow: %s", h.responseBody())
	}
	// The policy is not read if the body is invalid.
	bad := request{path: "/v1/chat/completions", body: "{", policy: &doc.Policy{Version: 2}}.run(t)
	equal(t, "reads for an invalid body", len(bad.all(abi.ActionRead)), 1)
}

func TestForbiddenModelSuggestsAlternatives(t *testing.T) {
	onlyMini := func(r *doc.Record) { r.Models = []string{"mini"} }
	h := request{path: "/v1/chat/completions", body: openaiRequest, record: onlyMini}.run(t)
	equal(t, "status", h.status(), 403)
	contains(t, "response", h.responseBody(), "is not allowed for this key; similar models that this key may use: mini")
	count := sentCommands[*keymeter.Admit](h)[0]
	equal(t, "admission mode", count.Mode, keymeter.ModeCount)
	equal(t, "status in its trace", count.Trace.Status, 403)
}

func TestNewerRecordAllowsTheModel(t *testing.T) {
	versions := 0
	record := func(r *doc.Record) {
		if versions++; versions == 1 {
			r.Models = []string{"mini"}
		}
	}
	q := request{path: "/v1/chat/completions", body: openaiRequest, record: record, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}
	newer := host{request: &request{}, t: t}
	q.verdicts = []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer.recordAt(6)}}
	h := q.run(t)
	equal(t, "status", h.status(), 200)
	equal(t, "admissions", len(sentCommands[*keymeter.Admit](h)), 2)
	// A newer record does not make an invalid body valid.
	q.body, q.verdicts = "{", []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer.recordAt(6)}}
	equal(t, "status of an invalid body", q.run(t).status(), 400)
}

func TestStaleRecordReloadsThePolicy(t *testing.T) {
	// The newer record has a different policy version.
	newer := (&host{request: &request{policy: &doc.Policy{Version: 3}}, t: t}).recordAt(6)
	h := request{
		path: "/v1/chat/completions", body: openaiRequest, policy: &doc.Policy{Version: 2},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)},
	}.run(t)
	var read []string
	for _, a := range h.all(abi.ActionRead) {
		if strings.HasPrefix(a.Key, "policy/") {
			read = append(read, a.Key)
		}
	}
	equal(t, "policies read", strings.Join(read, " "), doc.PolicyKey("prj_1", 2)+" "+doc.PolicyKey("prj_1", 3))
	// If the version is the same, the policy is not read again.
	newer = (&host{request: &request{policy: &doc.Policy{Version: 2}}, t: t}).recordAt(6)
	h = request{
		path: "/v1/chat/completions", body: openaiRequest, policy: &doc.Policy{Version: 2},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)},
	}.run(t)
	equal(t, "reads with the same policy", len(h.all(abi.ActionRead)), 2)
}

func TestFailedAbsorbIsNot402(t *testing.T) {
	short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
	send := func(outcome uint64) uint64 {
		return request{
			path: "/v1/chat/completions", body: openaiRequest, verdicts: []*keymeter.AdmitReply{short}, absorbOutcome: outcome,
			grants: []ledger.GrantReply{{Recall: []string{"meter-2"}, Next: "meter-2"}},
		}.run(t).status()
	}
	equal(t, "status if the recall returned nothing", send(abi.OutcomeOK), 402)
	equal(t, "status if the absorb failed", send(abi.OutcomeFailed), 503)
}

func TestUsageParameters(t *testing.T) {
	send := func(query string) *host { return request{method: "GET", path: "/api/usage", query: query}.run(t) }
	for query, status := range map[string]uint64{
		"projectId=prj_1": 200, "projectId=prj_1&period=day": 200, "projectId=prj_1&period=week": 200, "projectId=prj_1&period=month": 200,
		"projectId=prj_1&period=year": 400, "projectId=prj_2": 403, "": 400, "period=year": 400, "projectId=prj_2&period=year": 403, "x=prj_1": 400,
	} {
		equal(t, "status of "+query, send(query).status(), status)
	}
	contains(t, "response without a project", send("").responseBody(), `"field":"projectId","message":"is required"`)
	contains(t, "week", send("projectId=prj_1&period=week").responseBody(), `"start":"2026-11-16T00:00:00.000Z","end":"2026-11-23T00:00:00.000Z"`)
}

func TestUsageListsModelsWithRequestsOrCost(t *testing.T) {
	h := request{method: "GET", path: "/api/usage", query: "projectId=prj_1", report: ledger.ReportReply{
		BudgetPico: 5, UsedPico: 7,
		Models: []ledger.Usage{{Model: "asked", Requests: 1}, {Model: "paid", CostPico: 1e12}, {Model: "hit", Hits: 1, Misses: 2}},
	}}.run(t)
	contains(t, "response", h.responseBody(), `"models":{"asked":{"requests":1,"tokens":0,"cost":0},"paid":{"requests":0,"tokens":0,"cost":1}}`,
		`"hits":1,"misses":2,"hitRate":33.33`, `"remaining":0}`)
	contains(t, "response without usage", request{method: "GET", path: "/api/usage", query: "projectId=prj_1"}.run(t).responseBody(), `"hitRate":0`)
}

func TestLedgerPolicyVersions(t *testing.T) {
	run := func(authority *doc.Policy) *host {
		return request{path: "/v1/chat/completions", body: openaiRequest, record: func(r *doc.Record) { r.Policy = 4 }, ledgerPolicy: authority, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	}
	kept := func(h *host) (n int) {
		for _, a := range h.all(abi.ActionWrite) {
			if a.Key == doc.PolicyKey("prj_1", 4) {
				n++
			}
		}
		return n
	}
	equal(t, "status without a policy in the Ledger", run(nil).status(), 503)
	equal(t, "status with an older version", run(&doc.Policy{Version: 3}).status(), 503)
	same, newer := run(&doc.Policy{Version: 4}), run(&doc.Policy{Version: 5})
	equal(t, "status with the record's version", same.status(), 200)
	equal(t, "cache writes with the record's version", kept(same), 1)
	equal(t, "status with a newer version", newer.status(), 200)
	equal(t, "cache writes with a newer version", kept(newer), 0)
}

func TestOnlyUnknownKeysAreCachedAsUnknown(t *testing.T) {
	written := func(stranger bool, verdict keymeter.Verdict) *abi.Action {
		h := request{path: "/v1/chat/completions", body: openaiRequest, noRecord: stranger, verdicts: []*keymeter.AdmitReply{{Verdict: verdict}}}.run(t)
		equal(t, "status", h.status(), 401)
		return h.one(abi.ActionWrite)
	}
	unknown := written(true, keymeter.Unknown)
	equal(t, "cache time of an unknown key in ms", unknown.KeepMs, 10_000)
	equal(t, "body parts of the cache write", len(unknown.Body), 1)
	for _, other := range []*abi.Action{written(true, keymeter.Inactive), written(false, keymeter.Unknown), written(false, keymeter.Inactive)} {
		equal(t, "body parts of the cache write for another key", len(other.Body), 0)
	}
	// The meter may have a record that KV does not have yet.
	newer := (&host{request: &request{}, t: t}).recordAt(6)
	h := request{path: "/v1/chat/completions", body: openaiRequest, noRecord: true, verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}},
		provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	equal(t, "status of a key known to its meter", h.status(), 200)
}

func TestStaleRecordRestartsTheCacheLookup(t *testing.T) {
	newer := (&host{request: &request{record: withCache}, t: t}).recordAt(6)
	afterAdmission := func(h *host, a *abi.Action) bool {
		return a.Kind == abi.ActionRead && slices.ContainsFunc(h.pending, func(o abi.Action) bool { return o.Kind == abi.ActionCall })
	}
	h := request{path: "/v1/chat/completions", body: openaiRequest, record: withCache, verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}},
		provider: [][]abi.Event{wholeResponse(200, openaiResponse)}, hold: afterAdmission}.run(t)
	var lookups, canceled []uint64
	for _, a := range h.all(abi.ActionRead) {
		if strings.HasPrefix(a.Key, "cache/") && a.Where == abi.WhereColo {
			lookups = append(lookups, a.ID)
		}
	}
	for _, a := range h.all(abi.ActionCancel) {
		canceled = append(canceled, a.ID)
	}
	if len(lookups) != 2 || !slices.Equal(canceled, lookups[:1]) {
		t.Errorf("canceled %v of the lookups %v, want only the first", canceled, lookups)
	}
	equal(t, "status", h.status(), 200)
}

// TestRefusalReturnsWhatALostReplyReserved: if an earlier command's reply was lost, a refused request releases that
// command's reservation. If there was no such command, it settles nothing.
func TestRefusalReturnsWhatALostReplyReserved(t *testing.T) {
	for _, c := range []struct {
		reply  keymeter.AdmitReply
		status uint64
		want   int
	}{
		{keymeter.AdmitReply{Verdict: keymeter.Inactive, ReservedPico: 5}, 401, 1},
		{keymeter.AdmitReply{Verdict: keymeter.Unknown, ReservedPico: 5}, 401, 1},
		{keymeter.AdmitReply{Verdict: keymeter.Inactive}, 401, 0},
		{keymeter.AdmitReply{Verdict: keymeter.RateLimited}, 429, 0},
	} {
		h := request{path: "/v1/chat/completions", body: openaiRequest, verdicts: []*keymeter.AdmitReply{&c.reply}}.run(t)
		settles := sentCommands[*keymeter.Settle](h)
		equal(t, "status", h.one(abi.ActionRespond).Code, c.status)
		if len(settles) != c.want || c.want > 0 && settles[0].Outcome != keymeter.Released {
			t.Errorf("%+v: settlements %+v", c.reply, settles)
		}
	}
}
