package control

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// Two tabs show version 1 and both save: the second gets a conflict.
func TestStaleSave(t *testing.T) {
	b := newBench(t)
	path := b.project()
	if got := b.must(200, "PATCH", path, `{"name":"first","version":1}`); fmt.Sprint(got.fields["version"]) != "2" {
		t.Error(got.Body)
	}
	b.refused(b.do("PATCH", path, `{"name":"second","version":1}`), fault.Conflict)
	b.refused(b.do("PATCH", path, `{"name":"second","version":3}`), fault.Conflict)
	b.must(200, "PATCH", path, `{"name":"second","version":2}`)
	b.must(200, "PATCH", path, `{"name":"third"}`)
	keyPath, _ := b.key(path)
	if got := b.must(200, "GET", path, ""); got.text("name") != "third" || fmt.Sprint(got.fields["version"]) != "4" {
		t.Errorf("a key changed the project's version: %s", got.Body)
	}
	b.must(200, "PATCH", keyPath, `{"name":"first","version":1}`)
	b.refused(b.do("PATCH", keyPath, `{"name":"second","version":1}`), fault.Conflict)
	b.must(200, "PATCH", path, `{"name":"fourth"}`)
	if got := b.must(200, "PATCH", keyPath, `{"name":"second","version":2}`); fmt.Sprint(got.fields["version"]) != "3" {
		t.Errorf("a project's change changed the key's version: %s", got.Body)
	}
	for _, version := range []string{"0", "-1", "1.5", `"1"`, "null", "9007199254740993", "1e1"} {
		for _, at := range []string{path, keyPath} {
			got := b.do("PATCH", at, `{"name":"x","version":`+version+`}`)
			b.refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.problems(), []string{"version"}) {
				t.Errorf("version %s: %s", version, got.Body)
			}
		}
	}
}

// Two tabs save at the same moment: the later commit gets a 409, although its version was current when it was
// checked.
func TestConcurrentSaves(t *testing.T) {
	b := newBench(t)
	path := b.project()
	keyPath, _ := b.key(path)
	for _, at := range []string{path, keyPath} {
		b.interleave(func() { b.must(200, "PATCH", at, `{"name":"first","version":1}`) })
		b.refused(b.do("PATCH", at, `{"name":"second","version":1}`), fault.Conflict)
		if got := b.must(200, "GET", at, ""); got.text("name") != "first" || fmt.Sprint(got.fields["version"]) != "2" {
			t.Error(got.Body)
		}
	}
}

// statusOfMeter is the last status delivered to a key's meter.
func (b *bench) statusOfMeter(value string) doc.Status {
	status, _ := b.meterView(keys.Hash(value))
	return status
}

func TestArchiveAndRestore(t *testing.T) {
	b := newBench(t)
	path := b.project()
	_, active := b.key(path)
	inactivePath, inactive := b.key(path)
	b.must(200, "POST", inactivePath+"/deactivate", "")
	for _, step := range []struct {
		verb, status string
		first        doc.Status
	}{{"archive", "archived", doc.Inactive}, {"archive", "archived", doc.Inactive}, {"restore", "active", doc.Active}, {"restore", "active", doc.Active}} {
		b.memory.forget()
		if got := b.must(200, "POST", path+"/"+step.verb, ""); got.text("status") != step.status {
			t.Errorf("%s: %s", step.verb, got.Body)
		}
		// All keys get a delivery before the response even if nothing differs: it may be a second attempt.
		if len(b.memory.sent) != 3 {
			t.Errorf("%s: deliveries to %d objects", step.verb, len(b.memory.sent))
		}
		if status := b.statusOfMeter(active.text("value")); status != step.first {
			t.Errorf("%s: the active key has status %d", step.verb, status)
		}
		if status := b.statusOfMeter(inactive.text("value")); status != doc.Inactive {
			t.Errorf("%s: the inactive key has status %d", step.verb, status)
		}
	}
}

// Keys created or reactivated in an archived project become active only when it is restored.
func TestChangesInArchivedProject(t *testing.T) {
	b := newBench(t)
	path := b.project()
	keyPath, old := b.key(path)
	b.must(200, "POST", path+"/archive", "")
	b.must(200, "POST", keyPath+"/deactivate", "")
	if got := b.must(200, "POST", keyPath+"/reactivate", ""); got.text("status") != "active" {
		t.Error(got.Body)
	}
	made := b.must(201, "POST", path+"/keys", `{"name":"k"}`)
	for _, value := range []string{old.text("value"), made.text("value")} {
		if status := b.statusOfMeter(value); status != doc.Inactive {
			t.Errorf("a key in an archived project has status %d", status)
		}
	}
	if got := b.must(200, "GET", "/api/admin/projects?status=archived", ""); len(got.fields["projects"].([]any)) != 1 {
		t.Error(got.Body)
	}
	if got := b.must(200, "GET", "/api/admin/projects?status=active", ""); got.Body.String() != `{"projects":[],"next":null}` {
		t.Error(got.Body)
	}
	b.must(200, "POST", path+"/restore", "")
	for _, value := range []string{old.text("value"), made.text("value")} {
		if status := b.statusOfMeter(value); status != doc.Active {
			t.Errorf("a key in a restored project has status %d", status)
		}
	}
}

// The archiving was committed, but a key's meter failed. The second attempt returns 200 only after the
// delivery.
func TestArchiveIsAcknowledgedAfterDelivery(t *testing.T) {
	b := newBench(t)
	quiet(t)
	path := b.project()
	_, made := b.key(path)
	b.memory.failAll(abi.ClassKeyMeter)
	b.refused(b.do("POST", path+"/archive", ""), fault.Unavailable)
	b.memory.fail = nil
	b.must(200, "POST", path+"/archive", "")
	if status := b.statusOfMeter(made.text("value")); status != doc.Inactive {
		t.Errorf("acknowledged, but the key has status %d", status)
	}
}

// While a change is delivered to the keys, others change the project and a key. No meter may get two
// different records of one version: it would drop the second.
func TestRecordVersionsAreUnique(t *testing.T) {
	b := newBench(t)
	path := b.project()
	keyPath, made := b.key(path)
	lists := 0
	b.memory.before = func(command []byte) {
		list := directory.List{Prefix: doc.KeysOf(path[strings.LastIndex(path, "/")+1:]), Limit: maxUpdatedKeys + 1}
		if string(command) != string(list.Encode()) {
			return
		}
		if lists++; lists == 1 { // the first change has read the project and is about to read the keys
			b.must(200, "POST", path+"/archive", "")
			b.must(200, "PATCH", keyPath, `{"limits":{"requestsPerDay":1}}`)
		}
	}
	b.must(200, "PATCH", path, `{"plan":"team"}`)
	got := newDeliveries(t)
	got.take(b.memory.sent)
	status, record := b.meterView(keys.Hash(made.text("value")))
	if status != doc.Inactive || record.Plan != "team" || record.Limits.PerDay != 1 || lists < 2 {
		t.Errorf("after %d lists of keys, the meter has status %d and %+v", lists, status, record)
	}
}

// A project that keeps changing does not block a request forever.
func TestProjectThatKeepsChanging(t *testing.T) {
	b := newBench(t)
	quiet(t)
	path := b.project()
	keyPath, _ := b.key(path)
	b.memory.before = func(command []byte) {
		list := directory.List{Prefix: doc.KeysOf(path[strings.LastIndex(path, "/")+1:]), Limit: maxUpdatedKeys + 1}
		if string(command) == string(list.Encode()) {
			b.must(200, "PATCH", keyPath, `{}`)
		}
	}
	b.refused(b.do("PATCH", path, `{"plan":"team"}`), fault.Unavailable)
}

// spend makes one of the project's meters report a cost to the ledger.
func (b *bench) spend(project, meter, keyID, model string, seq uint64, cost money.Pico) {
	b.Helper()
	now := uint64(b.now.UnixMilli())
	u := ledger.Usage{Day: now / 86400_000, Hour: now % 86400_000 / 3600_000, Model: model, Requests: 1, CostPico: cost}
	u.Latency.Add(40)
	absorb := ledger.Absorb{Key: meter, KeyID: keyID, Seq: seq, Usage: []ledger.Usage{u}}
	name := strings.TrimPrefix(project, "/api/admin/projects/")
	if _, err := b.memory.Call(b.Context(), abi.ClassLedger, name, "", absorb.Encode()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) budget(path string) string {
	b.Helper()
	got := b.must(200, "GET", path+"/usage", "")
	text, err := encode(got.fields["budget"])
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// A new budget period includes the amount already spent in it: month, week, day, and month again.
func TestBudgetPeriods(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	path := b.must(201, "POST", "/api/admin/projects", `{"name":"x","budget":10}`).text("id")
	path = "/api/admin/projects/" + path
	saturday := b.now
	for i, days := range []int{-20, -3, 0} { // the first of November, a Wednesday, and today
		b.now = saturday.AddDate(0, 0, days) // the first of November, a Wednesday, and today
		b.spend(path, "meter", "key_a", "m", uint64(i+1), money.Dollar<<i)
	}
	for _, c := range []struct{ period, used, remaining, start, end string }{
		{"month", "7", "3", "2026-11-01", "2026-12-01"},
		{"week", "6", "4", "2026-11-16", "2026-11-23"},
		{"day", "4", "6", "2026-11-21", "2026-11-22"},
		{"month", "7", "3", "2026-11-01", "2026-12-01"},
	} {
		got := b.must(200, "PATCH", path, `{"budgetPeriod":"`+c.period+`"}`)
		want := fmt.Sprintf(`{"end":"%sT00:00:00.000Z","limit":10,"period":%q,"remaining":%s,"start":"%sT00:00:00.000Z","used":%s}`,
			c.end, c.period, c.remaining, c.start, c.used)
		if budget := b.budget(path); got.text("budgetPeriod") != c.period || budget != want {
			t.Errorf("%s: %s\nwant %s", got.text("budgetPeriod"), budget, want)
		}
	}
	b.must(200, "PATCH", path, `{"budgetPeriod":"day"}`)
	b.now = saturday.AddDate(0, 0, 1)
	if budget := b.budget(path); !strings.Contains(budget, `"remaining":10,"start":"2026-11-22`) {
		t.Errorf("the next day: %s", budget)
	}
	b.refused(b.do("PATCH", path, `{"budgetPeriod":"year"}`), fault.InvalidRequest)
}

// Setting the same period again does not start a new one.
func TestUnchangedPeriod(t *testing.T) {
	b := newBench(t)
	path := b.project()
	_, made := b.key(path)
	b.must(200, "PATCH", path, `{"budgetPeriod":"month"}`)
	if p, _ := b.handler.(*handler).store.project(t.Context(), path[strings.LastIndex(path, "/")+1:]); p.Epoch != 0 {
		t.Errorf("epoch %d", p.Epoch)
	}
	b.must(200, "PATCH", path, `{"budgetPeriod":"day"}`)
	if _, record := b.meterView(keys.Hash(made.text("value"))); record.Epoch != 1 || record.Cycle != 2 {
		t.Errorf("%+v", record)
	}
}

// A change of period reaches the real meter and the real ledger, and requests are still admitted.
func TestRequestsAfterChangeOfPeriod(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	path := "/api/admin/projects/" + b.must(201, "POST", "/api/admin/projects", `{"name":"x","budget":1}`).text("id")
	value := b.must(201, "POST", path+"/keys", `{"name":"k"}`).text("value")
	for i, period := range []string{"month", "day", "week", "month"} {
		b.must(200, "PATCH", path, `{"budgetPeriod":"`+period+`"}`)
		b.request(path, value, fmt.Sprint("req_", i), money.Cent)
	}
	if budget := b.budget(path); !strings.Contains(budget, `"used":0.04}`) {
		t.Error(budget)
	}
}

// request makes a key's meter admit and settle a request, with a grant of the ledger if necessary.
func (b *bench) request(project, value, id string, cost money.Pico) {
	b.Helper()
	b.reserve(project, value, id, cost)
	b.settle(value, id, cost)
}

func (b *bench) reserve(project, value, id string, cost money.Pico) {
	b.Helper()
	hash := keys.Hash(value)
	admit := keymeter.Admit{RequestID: id, Version: 1 << 40, Mode: keymeter.ModeReserve, Model: "m", AmountPico: cost, LifetimeMs: 60_000}
	reply := b.admit(hash, &admit)
	if reply.Verdict == keymeter.Short {
		grant := ledger.Grant{Key: hash, Period: reply.Period, Epoch: reply.Epoch, HeldPico: reply.HeldPico, NeedPico: reply.NeedPico, LeastPico: reply.LeastPico}
		given, err := ledger.DecodeGrantReply(b.ask(abi.ClassLedger, strings.TrimPrefix(project, "/api/admin/projects/"), grant.Encode()))
		if err != nil || !given.Granted {
			b.Fatalf("%v, the ledger replied %+v", err, given)
		}
		admit.Grant = keymeter.Grant{Period: given.Period, Epoch: given.Epoch, TotalPico: given.TotalPico}
		reply = b.admit(hash, &admit)
	}
	if reply.Verdict != keymeter.Admitted {
		b.Fatalf("%s: verdict %d", id, reply.Verdict)
	}
}

func (b *bench) settle(value, id string, cost money.Pico) {
	b.Helper()
	settle := keymeter.Settle{
		RequestID: id, Outcome: keymeter.Served, Model: "m", CostPico: cost, Tokens: keymeter.Tokens{Prompt: 3, Completion: 4},
		Trace: keymeter.Trace{Provider: "openai", Status: 200, DurationMs: 40},
	}
	b.ask(abi.ClassKeyMeter, keys.Hash(value), settle.Encode())
}

// TestUsageWaitsForSettlements checks that reports wait for requests that are being settled, and at most for a second.
func TestUsageWaitsForSettlements(t *testing.T) {
	for pauses, want := range map[int]string{0: `"used":0.01}`, 2: `"used":0.01}`, 9: `"used":0}`} {
		b := newBench(t)
		b.memory.reducers = true
		path := "/api/admin/projects/" + b.must(201, "POST", "/api/admin/projects", `{"name":"x","budget":1}`).text("id")
		value := b.must(201, "POST", path+"/keys", `{"name":"k"}`).text("value")
		b.reserve(path, value, "req_1", money.Cent)
		slept := time.Duration(0)
		settleAfter := func(pause int) {
			if pause == pauses {
				b.settle(value, "req_1", money.Cent)
			}
		}
		settleAfter(0)
		n := 0
		b.handler.(*handler).store.sleep = func(_ context.Context, d time.Duration) error {
			n++
			slept += d
			settleAfter(n)
			return nil
		}
		if budget := b.budget(path); !strings.Contains(budget, want) {
			t.Errorf("settled after %d pauses: %s", pauses, budget)
		}
		if n != min(pauses, 3) || slept > time.Second {
			t.Errorf("settled after %d pauses: %d pauses, %v", pauses, n, slept)
		}
	}
}

func (b *bench) admit(hash string, a *keymeter.Admit) keymeter.AdmitReply {
	b.Helper()
	reply, err := keymeter.DecodeAdmitReply(b.ask(abi.ClassKeyMeter, hash, a.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func (b *bench) ask(class abi.Class, name string, command []byte) []byte {
	b.Helper()
	reply, err := b.memory.Call(b.Context(), class, name, "", command)
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func TestAlerts(t *testing.T) {
	b := newBench(t)
	path := b.project()
	alerts := func(body string) (url, last4, secret string) {
		t.Helper()
		got := b.must(200, "PATCH", path, body)
		a, _ := got.fields["alerts"].(map[string]any)
		url, _ = a["url"].(string)
		last4, _ = a["secretLast4"].(string)
		secret, _ = a["secret"].(string)
		if a != nil && len(a) != 2 && secret == "" {
			t.Errorf("%s: %s", body, got.Body)
		}
		return url, last4, secret
	}
	url, last4, first := alerts(`{"alerts":{"url":"https://hooks.example/a?b=c"}}`)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(first, "whsec_"))
	if err != nil || len(raw) != 24 || !strings.HasPrefix(first, "whsec_") || !strings.HasSuffix(first, last4) || url != "https://hooks.example/a?b=c" {
		t.Fatalf("%q %q %q %v", url, last4, first, err)
	}
	for _, body := range []string{`{"name":"y"}`, `{"alerts":{"url":"https://hooks.example/a?b=c"}}`, `{}`} {
		if url, again, secret := alerts(body); url == "" || again != last4 || secret != "" {
			t.Errorf("%s: %q %q %q", body, url, again, secret)
		}
	}
	if got := b.must(200, "GET", path, ""); strings.Contains(got.Body.String(), "whsec_") || !strings.Contains(got.Body.String(), `"secretLast4":"`+last4+`"`) {
		t.Error(got.Body)
	}
	_, _, second := alerts(`{"alerts":{"url":"https://hooks.example/b"}}`)
	if second == "" || second == first {
		t.Errorf("a new URL has the secret %q", second)
	}
	if url, _, _ := alerts(`{"alerts":null}`); url != "" {
		t.Errorf("alerts still have the URL %s", url)
	}
	if _, _, third := alerts(`{"alerts":{"url":"https://hooks.example/b"}}`); third == "" || third == second {
		t.Errorf("an old secret was reused: %q", third)
	}
	for key, row := range b.memory.rows {
		if strings.HasPrefix(key, "d/a/") && (strings.Contains(string(row), "whsec_") || strings.Contains(string(row), first[6:])) {
			t.Errorf("the audit log contains a secret: %s", row)
		}
	}
}

// TestWebhookSignature: the ledger signs with the secret that was shown once.
func TestWebhookSignature(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	path := b.project()
	made := b.must(200, "PATCH", path, `{"alerts":{"url":"https://hooks.example/a"}}`)
	secret := made.fields["alerts"].(map[string]any)["secret"].(string)
	b.spend(path, "meter", "key_a", "m", 1, 4*money.Dollar)
	posts := b.memory.object(abi.ClassLedger, path[strings.LastIndex(path, "/")+1:]).Posts
	if len(posts) != 1 || posts[0].URL != "https://hooks.example/a" {
		t.Fatalf("%+v", posts)
	}
	headers := map[string]string{}
	for _, h := range posts[0].Headers {
		headers[h.Name] = h.Value
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", headers["webhook-id"], headers["webhook-timestamp"], posts[0].Body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); headers["webhook-signature"] != want {
		t.Errorf("%q, want %q", headers["webhook-signature"], want)
	}
}
