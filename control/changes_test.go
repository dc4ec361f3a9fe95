package control_test

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

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// Two tabs show version 1 and both save: the second gets a conflict.
func TestStaleSave(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	if got := b.Must(200, "PATCH", path, `{"name":"first","version":1}`); fmt.Sprint(got.Fields["version"]) != "2" {
		t.Error(got.Body)
	}
	b.Refused(b.Do("PATCH", path, `{"name":"second","version":1}`), fault.Conflict)
	b.Refused(b.Do("PATCH", path, `{"name":"second","version":3}`), fault.Conflict)
	b.Must(200, "PATCH", path, `{"name":"second","version":2}`)
	b.Must(200, "PATCH", path, `{"name":"third"}`)
	keyPath, _ := b.Key(path)
	if got := b.Must(200, "GET", path, ""); got.Text("name") != "third" || fmt.Sprint(got.Fields["version"]) != "4" {
		t.Errorf("a key changed the project's version: %s", got.Body)
	}
	b.Must(200, "PATCH", keyPath, `{"name":"first","version":1}`)
	b.Refused(b.Do("PATCH", keyPath, `{"name":"second","version":1}`), fault.Conflict)
	b.Must(200, "PATCH", path, `{"name":"fourth"}`)
	if got := b.Must(200, "PATCH", keyPath, `{"name":"second","version":2}`); fmt.Sprint(got.Fields["version"]) != "3" {
		t.Errorf("a project's change changed the key's version: %s", got.Body)
	}
	for _, version := range []string{"0", "-1", "1.5", `"1"`, "null", "9007199254740993", "1e1"} {
		for _, at := range []string{path, keyPath} {
			got := b.Do("PATCH", at, `{"name":"x","version":`+version+`}`)
			b.Refused(got, fault.InvalidRequest)
			if !reflect.DeepEqual(got.Problems(), []string{"version"}) {
				t.Errorf("version %s: %s", version, got.Body)
			}
		}
	}
}

// Two tabs save at the same moment. Both versions are current when they are checked, but the later commit gets a 409.
func TestConcurrentSaves(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	keyPath, _ := b.Key(path)
	for _, at := range []string{path, keyPath} {
		b.Interleave(func() { b.Must(200, "PATCH", at, `{"name":"first","version":1}`) })
		b.Refused(b.Do("PATCH", at, `{"name":"second","version":1}`), fault.Conflict)
		if got := b.Must(200, "GET", at, ""); got.Text("name") != "first" || fmt.Sprint(got.Fields["version"]) != "2" {
			t.Error(got.Body)
		}
	}
}

// statusOfMeter returns the last status delivered to a key's meter.
func statusOfMeter(b *controltest.Bench, value string) doc.Status {
	status, _ := b.MeterView(keys.Hash(value))
	return status
}

func TestArchiveAndRestore(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	_, active := b.Key(path)
	inactivePath, inactive := b.Key(path)
	b.Must(200, "POST", inactivePath+"/deactivate", "")
	for _, step := range []struct {
		verb, status string
		first        doc.Status
	}{{"archive", "archived", doc.Inactive}, {"archive", "archived", doc.Inactive}, {"restore", "active", doc.Active}, {"restore", "active", doc.Active}} {
		b.Memory.Forget()
		if got := b.Must(200, "POST", path+"/"+step.verb, ""); got.Text("status") != step.status {
			t.Errorf("%s: %s", step.verb, got.Body)
		}
		// All keys get a delivery before the response, even if nothing changes. The request may be a second attempt.
		if len(b.Memory.Sent) != 3 {
			t.Errorf("%s: deliveries to %d objects", step.verb, len(b.Memory.Sent))
		}
		if status := statusOfMeter(b, active.Text("value")); status != step.first {
			t.Errorf("%s: the active key has status %d", step.verb, status)
		}
		if status := statusOfMeter(b, inactive.Text("value")); status != doc.Inactive {
			t.Errorf("%s: the inactive key has status %d", step.verb, status)
		}
	}
}

// Keys that are created or reactivated in an archived project become active only when the project is restored.
func TestChangesInArchivedProject(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	keyPath, old := b.Key(path)
	b.Must(200, "POST", path+"/archive", "")
	b.Must(200, "POST", keyPath+"/deactivate", "")
	if got := b.Must(200, "POST", keyPath+"/reactivate", ""); got.Text("status") != "active" {
		t.Error(got.Body)
	}
	made := b.Must(201, "POST", path+"/keys", `{"name":"k"}`)
	for _, value := range []string{old.Text("value"), made.Text("value")} {
		if status := statusOfMeter(b, value); status != doc.Inactive {
			t.Errorf("a key in an archived project has status %d", status)
		}
	}
	if got := b.Must(200, "GET", "/api/admin/projects?status=archived", ""); len(got.Fields["projects"].([]any)) != 1 {
		t.Error(got.Body)
	}
	if got := b.Must(200, "GET", "/api/admin/projects?status=active", ""); got.Body.String() != `{"projects":[],"next":null}` {
		t.Error(got.Body)
	}
	b.Must(200, "POST", path+"/restore", "")
	for _, value := range []string{old.Text("value"), made.Text("value")} {
		if status := statusOfMeter(b, value); status != doc.Active {
			t.Errorf("a key in a restored project has status %d", status)
		}
	}
}

// The archive request was committed, but a key's meter failed. The second attempt returns 200 only after the
// delivery.
func TestArchiveIsAcknowledgedAfterDelivery(t *testing.T) {
	b := controltest.New(t)
	controltest.Quiet(t)
	path := b.Project()
	_, made := b.Key(path)
	b.Memory.FailAll(abi.ClassKeyMeter)
	b.Refused(b.Do("POST", path+"/archive", ""), fault.Unavailable)
	b.Memory.Fail = nil
	b.Must(200, "POST", path+"/archive", "")
	if status := statusOfMeter(b, made.Text("value")); status != doc.Inactive {
		t.Errorf("acknowledged, but the key has status %d", status)
	}
}

// While a change is being delivered to the keys, other requests change the project and a key. No meter may get two
// different records with the same version, because the meter would drop the second.
func TestRecordVersionsAreUnique(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	keyPath, made := b.Key(path)
	lists := 0
	b.Memory.Before = func(command []byte) {
		list := directory.List{Prefix: doc.KeysOf(path[strings.LastIndex(path, "/")+1:]), Limit: kernel.MaxUpdatedKeys + 1}
		if string(command) != string(list.Encode()) {
			return
		}
		if lists++; lists == 1 { // the first change has read the project and is about to read the keys
			b.Must(200, "POST", path+"/archive", "")
			b.Must(200, "PATCH", keyPath, `{"limits":{"requestsPerDay":1}}`)
		}
	}
	b.Must(200, "PATCH", path, `{"plan":"team"}`)
	got := newDeliveries(t)
	got.take(b.Memory.Sent)
	status, record := b.MeterView(keys.Hash(made.Text("value")))
	if status != doc.Inactive || record.Plan != "team" || record.Limits.PerDay != 1 || lists < 2 {
		t.Errorf("after %d lists of keys, the meter has status %d and %+v", lists, status, record)
	}
}

// A project that keeps changing does not block a request forever.
func TestProjectThatKeepsChanging(t *testing.T) {
	b := controltest.New(t)
	controltest.Quiet(t)
	path := b.Project()
	keyPath, _ := b.Key(path)
	b.Memory.Before = func(command []byte) {
		list := directory.List{Prefix: doc.KeysOf(path[strings.LastIndex(path, "/")+1:]), Limit: kernel.MaxUpdatedKeys + 1}
		if string(command) == string(list.Encode()) {
			b.Must(200, "PATCH", keyPath, `{}`)
		}
	}
	b.Refused(b.Do("PATCH", path, `{"plan":"team"}`), fault.Unavailable)
}

// A new budget period includes the amount already spent in it: month, week, day, and month again.
func TestBudgetPeriods(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Must(201, "POST", "/api/admin/projects", `{"name":"x","budget":10}`).Text("id")
	path = "/api/admin/projects/" + path
	saturday := b.Now
	for i, days := range []int{-20, -3, 0} {
		b.Now = saturday.AddDate(0, 0, days) // November 1, a Wednesday, and today
		b.Spend(path, "meter", "key_a", "m", uint64(i+1), money.Dollar<<i)
	}
	for _, c := range []struct{ period, used, remaining, start, end string }{
		{"month", "7", "3", "2026-11-01", "2026-12-01"},
		{"week", "6", "4", "2026-11-16", "2026-11-23"},
		{"day", "4", "6", "2026-11-21", "2026-11-22"},
		{"month", "7", "3", "2026-11-01", "2026-12-01"},
	} {
		got := b.Must(200, "PATCH", path, `{"budgetPeriod":"`+c.period+`"}`)
		want := fmt.Sprintf(`{"end":"%sT00:00:00.000Z","limit":10,"period":%q,"remaining":%s,"start":"%sT00:00:00.000Z","used":%s}`,
			c.end, c.period, c.remaining, c.start, c.used)
		if budget := b.Budget(path); got.Text("budgetPeriod") != c.period || budget != want {
			t.Errorf("%s: %s\nwant %s", got.Text("budgetPeriod"), budget, want)
		}
	}
	b.Must(200, "PATCH", path, `{"budgetPeriod":"day"}`)
	b.Now = saturday.AddDate(0, 0, 1)
	if budget := b.Budget(path); !strings.Contains(budget, `"remaining":10,"start":"2026-11-22`) {
		t.Errorf("the next day: %s", budget)
	}
	b.Refused(b.Do("PATCH", path, `{"budgetPeriod":"year"}`), fault.InvalidRequest)
}

// Setting the same period again does not start a new one.
func TestUnchangedPeriod(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	_, made := b.Key(path)
	b.Must(200, "PATCH", path, `{"budgetPeriod":"month"}`)
	if p := b.Stored(path); p.Epoch != 0 {
		t.Errorf("epoch %d", p.Epoch)
	}
	b.Must(200, "PATCH", path, `{"budgetPeriod":"day"}`)
	if _, record := b.MeterView(keys.Hash(made.Text("value"))); record.Epoch != 1 || record.Cycle != 2 {
		t.Errorf("%+v", record)
	}
}

// A new budget period reaches the real meter and the real ledger, and requests are still admitted.
func TestRequestsAfterChangeOfPeriod(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := "/api/admin/projects/" + b.Must(201, "POST", "/api/admin/projects", `{"name":"x","budget":1}`).Text("id")
	value := b.Must(201, "POST", path+"/keys", `{"name":"k"}`).Text("value")
	for i, period := range []string{"month", "day", "week", "month"} {
		b.Must(200, "PATCH", path, `{"budgetPeriod":"`+period+`"}`)
		b.Request(path, value, fmt.Sprint("req_", i), money.Cent)
	}
	if budget := b.Budget(path); !strings.Contains(budget, `"used":0.04}`) {
		t.Error(budget)
	}
}

// TestUsageWaitsForSettlements checks that reports wait for requests that are being settled, but no longer than a
// second.
func TestUsageWaitsForSettlements(t *testing.T) {
	for pauses, want := range map[int]string{0: `"used":0.01}`, 2: `"used":0.01}`, 9: `"used":0}`} {
		b := controltest.New(t)
		b.Memory.Reducers = true
		path := "/api/admin/projects/" + b.Must(201, "POST", "/api/admin/projects", `{"name":"x","budget":1}`).Text("id")
		value := b.Must(201, "POST", path+"/keys", `{"name":"k"}`).Text("value")
		b.Reserve(path, value, "req_1", money.Cent)
		slept := time.Duration(0)
		settleAfter := func(pause int) {
			if pause == pauses {
				b.Settle(value, "req_1", money.Cent)
			}
		}
		settleAfter(0)
		n := 0
		b.Configure(func(c *kernel.Config) {
			c.Sleep = func(_ context.Context, d time.Duration) error {
				n++
				slept += d
				settleAfter(n)
				return nil
			}
		})
		if budget := b.Budget(path); !strings.Contains(budget, want) {
			t.Errorf("settled after %d pauses: %s", pauses, budget)
		}
		if n != min(pauses, 3) || slept > time.Second {
			t.Errorf("settled after %d pauses: %d pauses, %v", pauses, n, slept)
		}
	}
}

func TestAlerts(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	alerts := func(body string) (url, last4, secret string) {
		t.Helper()
		got := b.Must(200, "PATCH", path, body)
		a, _ := got.Fields["alerts"].(map[string]any)
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
	if got := b.Must(200, "GET", path, ""); strings.Contains(got.Body.String(), "whsec_") || !strings.Contains(got.Body.String(), `"secretLast4":"`+last4+`"`) {
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
	for key, row := range b.Memory.Rows {
		if strings.HasPrefix(key, "d/a/") && (strings.Contains(string(row), "whsec_") || strings.Contains(string(row), first[6:])) {
			t.Errorf("the audit log contains a secret: %s", row)
		}
	}
}

// TestWebhookSignature checks that the ledger signs with the secret that was shown once.
func TestWebhookSignature(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	made := b.Must(200, "PATCH", path, `{"alerts":{"url":"https://hooks.example/a"}}`)
	secret := made.Fields["alerts"].(map[string]any)["secret"].(string)
	b.Spend(path, "meter", "key_a", "m", 1, 4*money.Dollar)
	posts := b.Memory.Object(abi.ClassLedger, path[strings.LastIndex(path, "/")+1:]).Posts
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
