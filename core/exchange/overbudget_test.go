package exchange_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// lacking is a level without budget.
type lacking struct {
	ledger string
	cycle  calendar.Cycle
	reply  ledger.GrantReply // of the Ledger
}

var spentReply = ledger.GrantReply{Spent: true, Told: true, BudgetPico: 1000, SpentPico: 990}

// refuseAt runs a request whose budget is missing at the given levels.
func refuseAt(t *testing.T, r request, levels ...lacking) *host {
	t.Helper()
	short := &keymeter.AdmitReply{Verdict: keymeter.Short}
	for _, l := range levels {
		period := calendar.NewPeriod(l.cycle, 0, calendar.Day(noon))
		short.Levels = append(short.Levels, keymeter.ShortLevel{Ledger: l.ledger, Period: period, Epoch: 1, NeedPico: 20, LeastPico: 20})
		l.reply.Period = period
		r.grants = append(r.grants, l.reply)
	}
	r.verdicts = append(r.verdicts, short)
	if r.body == "" {
		r.path, r.body = "/api/ai/complete", nativeCompletion
	}
	if r.record == nil {
		r.record = inGroups("Research")
	}
	return r.run(t)
}

// inGroups returns a record's change: the key's project is in a group with this name.
func inGroups(name string) func(*doc.Record) {
	return func(r *doc.Record) {
		r.Chain = []doc.Node{{ID: doc.Root, Name: "Everything"}, {ID: "grp_1", Name: name}}
	}
}

const (
	dayEnd   = `"resetsAt":"2026-11-22T00:00:00.000Z"`
	weekEnd  = `"resetsAt":"2026-11-23T00:00:00.000Z"`
	monthEnd = `"resetsAt":"2026-12-01T00:00:00.000Z"`
)

func TestRefusalNamesTheBudget(t *testing.T) {
	for _, c := range []struct {
		level              lacking
		budget, limit, say string
	}{
		{
			lacking{"root", calendar.Daily, spentReply}, `"budget":{"level":"deployment","id":"root","name":"Everything","unit":"dollars","period":"day",` + dayEnd + "}," + dayEnd,
			`"limit":{"name":"budget_per_day","of":"deployment","unit":"dollars"},`, `"budget","message":"of this gateway for the day does not cover this request; resets at 2026-11-22 00:00 UTC;`,
		}, {
			lacking{"grp_1", calendar.Weekly, spentReply}, `"budget":{"level":"group","id":"grp_1","name":"Research","unit":"dollars","period":"week",` + weekEnd + "}," + weekEnd,
			`"limit":{"name":"budget_per_week","of":"group","unit":"dollars"},`, `"budget","message":"of the group Research for the week does not cover this request; resets`,
		}, {
			lacking{"", calendar.Monthly, spentReply}, `"budget":{"level":"project","id":"prj_1","unit":"dollars","period":"month",` + monthEnd + "}," + monthEnd,
			`"limit":{"name":"budget_per_month","of":"project","unit":"dollars","amount":0.000000001,`, `"budget","message":"of this project for the month does not cover this request: $0.00000000099 of $0.000000001 spent, $`,
		}, {
			lacking{"grp_1#requests", calendar.Monthly, spentReply}, `"budget":{"level":"group","id":"grp_1","unit":"requests","period":"month",` + monthEnd + "}",
			`"limit":{"name":"requests_per_month","of":"group","unit":"requests"},`, `"limit","message":"of a group that this project belongs to, requests per month, is used up; resets at 2026-12-01 00:00 UTC;`,
		}, {
			lacking{"prj_1#tokens", calendar.Daily, spentReply}, `"budget":{"level":"project","id":"prj_1","unit":"tokens","period":"day",` + dayEnd + "}",
			`"limit":{"name":"tokens_per_day","of":"project","unit":"tokens","amount":1000,"used":1000},`, `"limit","message":"of this project, 1000 tokens per day, is used up; resets at 2026-11-22 00:00 UTC;`,
		},
	} {
		h := refuseAt(t, request{}, c.level)
		status := uint64(402)
		if _, unit := doc.UnitOf(c.level.ledger); unit != doc.Dollars {
			status = 429
		}
		equal(t, "status", h.status(), status)
		contains(t, c.level.ledger, h.responseBody(), c.budget, c.limit, c.say)
		equal(t, "x-should-retry", h.header("x-should-retry"), "false")
		equal(t, "retry-after", h.header("retry-after"), "")
	}
}

func TestPrepaidBudgetDoesNotReset(t *testing.T) {
	h := refuseAt(t, request{}, lacking{"grp_1", calendar.Total, spentReply})
	contains(t, "body", h.responseBody(), `"limit":{"name":"budget_total","of":"group","unit":"dollars"},"budget":{"level":"group","id":"grp_1","name":"Research","unit":"dollars","period":"total"},"raisedBy"`,
		`of the group Research does not cover this request; it does not reset; ask the operator of this gateway for credits"`)
	equal(t, "header", h.header("x-postern-budget"), `group; id="grp_1"; unit=dollars; period=total`)
	h = refuseAt(t, request{}, lacking{"grp_1#requests", calendar.Total, spentReply})
	contains(t, "body", h.responseBody(), `"name":"requests_total"`, "it does not reset; to raise it, ask the operator")
	for path, begins := range map[string]string{"/v1/chat/completions": `{"error":{"message":"Quota exceeded, will not reset: budget of`, "/v1/responses": `{"error":{"message":"Quota`} {
		h = refuseAt(t, request{path: path, body: bodyFor(path)}, lacking{"grp_1", calendar.Total, spentReply})
		if body := h.responseBody(); !strings.HasPrefix(body, begins) || strings.Contains(body, "reset_at") {
			t.Error(body)
		}
	}
}

// bodyFor returns a small request in the format of an endpoint.
func bodyFor(path string) string {
	if path == "/v1/responses" {
		return `{"model":"gpt","input":"Hello","max_output_tokens":100}`
	}
	return completion("gpt")
}

func TestRefusalInEachFormat(t *testing.T) {
	const budget = `"budget":{"level":"group","id":"grp_1","name":"Research","unit":"dollars","period":"month",` + monthEnd + "}," + monthEnd
	codex := []abi.Header{{Name: "originator", Value: "codex_cli_rs"}}
	for _, c := range []struct {
		path    string
		headers []abi.Header
		status  uint64
		kind    string
	}{
		{"/v1/chat/completions", nil, 402, `"type":"insufficient_quota"`},
		{"/v1/messages", nil, 402, `"type":"billing_error"`},
		{"/v1/responses", nil, 402, `"type":"usage_limit_reached"`},
		{"/v1/responses", codex, 429, `"resets_at":1796083200,`},
	} {
		h := refuseAt(t, request{path: c.path, body: bodyFor(c.path), headers: c.headers}, lacking{"grp_1", calendar.Monthly, spentReply})
		equal(t, c.path+": status", h.status(), c.status)
		contains(t, c.path, h.responseBody(), budget, c.kind, "of the group Research for the month")
		equal(t, c.path+": header", h.header("x-postern-budget"), `group; id="grp_1"; unit=dollars; period=month; resets=@1796083200`)
	}
}

// The key's own budget is its meter's. No Ledger is called.
func TestRefusalNamesTheKeysOwnBudget(t *testing.T) {
	for _, c := range []struct {
		ledger               string
		status               uint64
		used, reserved       int64
		retry, never, amount string
		budget               string
	}{
		{"key", 402, 990, 0, "", "false", `"amount":0.000000001,"used":0.00000000099,`, `"unit":"dollars","period":"day",`},
		{"key", 402, 900, 80, "1", "", `"amount":0.000000001,"used":0.0000000009,`, `"unit":"dollars","period":"day",`},
		{"key#requests", 429, 1000, 0, "", "false", `"name":"requests_per_day","of":"key","unit":"requests","amount":1000,"used":1000}`, `"unit":"requests","period":"day",`},
	} {
		period := calendar.NewPeriod(calendar.Daily, 0, calendar.Day(noon))
		own := keymeter.ShortLevel{Ledger: c.ledger, Period: period, Epoch: 1, HeldPico: 1000, UsedPico: c.used, ReservedPico: c.reserved, NeedPico: 20, LeastPico: 20}
		h := request{path: "/api/ai/complete", body: nativeCompletion, verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.OverOwn, Levels: []keymeter.ShortLevel{own}}}}.run(t)
		equal(t, c.ledger, h.status(), c.status)
		contains(t, "body", h.responseBody(), c.amount, `"budget":{"level":"key","id":"key_1",`+c.budget+dayEnd+"}", "of this key")
		equal(t, "retry-after", h.header("retry-after"), c.retry)
		equal(t, "x-should-retry", h.header("x-should-retry"), c.never)
		equal(t, "Ledgers asked", len(sentCommands[*ledger.Grant](h)), 0)
	}
}

// A group's name can have any letters, but a header cannot.
func TestNameInAHeader(t *testing.T) {
	r := request{path: "/v1/responses", body: bodyFor("/v1/responses"), headers: []abi.Header{{Name: "originator", Value: "codex_cli_rs"}}, record: inGroups("Küche")}
	h := refuseAt(t, r, lacking{"grp_1", calendar.Monthly, spentReply})
	contains(t, "header", h.header("x-codex-promo-message"), "budget of the group K?che for the month")
	contains(t, "body", h.responseBody(), `"name":"Küche"`)
}

func TestHiddenName(t *testing.T) {
	h := refuseAt(t, request{record: inGroups("")}, lacking{"grp_1", calendar.Monthly, spentReply})
	contains(t, "body", h.responseBody(), `"budget":{"level":"group","id":"grp_1","unit":"dollars"`, "of a group that this project belongs to for the month")
}

// Of several spent budgets, the refusal names the one that resets last: a retry would fail until then.
func TestRefusalNamesTheBudgetThatResetsLast(t *testing.T) {
	spent := func(ledger string, c calendar.Cycle) lacking { return lacking{ledger, c, spentReply} }
	granted := lacking{"grp_1", calendar.Monthly, ledger.GrantReply{Granted: true, Epoch: 1, TotalPico: 20}}
	for _, c := range []struct {
		named  string
		levels []lacking
	}{
		{"grp_1", []lacking{spent("root", calendar.Daily), spent("grp_1", calendar.Weekly)}},
		{"root", []lacking{spent("root", calendar.Weekly), spent("grp_1", calendar.Daily), spent("", calendar.Daily)}},
		{"prj_1", []lacking{spent("root", calendar.Daily), granted, spent("", calendar.Monthly)}},
		{"root", []lacking{spent("root", calendar.Monthly), spent("grp_1", calendar.Monthly)}},
		{"grp_1", []lacking{spent("root", calendar.Monthly), spent("grp_1", calendar.Total), spent("", calendar.Weekly)}},
		{"root", []lacking{spent("root", calendar.Daily), granted}},
	} {
		h := refuseAt(t, request{}, c.levels...)
		contains(t, "body", h.responseBody(), `,"id":"`+c.named+`",`)
		equal(t, "admissions", len(sentCommands[*keymeter.Admit](h)), 1)
	}
}

// If requests in progress hold the missing amount, the request may soon succeed.
func TestReservedBudgetMayPassSoon(t *testing.T) {
	none := ledger.GrantReply{}
	recall := ledger.GrantReply{Next: "meter-2", Recall: []string{"meter-2"}}
	for _, c := range []struct {
		open         uint64 // requests of other keys
		own          int64  // reserved by the key's other requests
		retry, never string
	}{{0, 0, "", "false"}, {1, 0, "1", ""}, {0, 30, "1", ""}} {
		level := keymeter.ShortLevel{Ledger: "grp_1", Period: period, Epoch: 1, NeedPico: 20, LeastPico: 20, ReservedPico: c.own}
		short := &keymeter.AdmitReply{Verdict: keymeter.Short, Levels: []keymeter.ShortLevel{level}}
		r := request{path: "/v1/chat/completions", body: completion("gpt"), record: inGroups("Research"), openReservations: c.open}
		r.verdicts, r.grants = []*keymeter.AdmitReply{short, short}, []ledger.GrantReply{recall, recall, none, none}
		h := r.run(t)
		equal(t, "status", h.status(), 402)
		equal(t, "retry-after", h.header("retry-after"), c.retry)
		equal(t, "x-should-retry", h.header("x-should-retry"), c.never)
		reserved := strings.Contains(h.responseBody(), "requests in progress have reserved the rest")
		equal(t, "whether the message says so", reserved, c.retry != "")
	}
}
