package ledger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// percents returns the thresholds in the bodies of posts.
func percents(posts []abi.Post) (list []int) {
	for _, p := range posts {
		_, rest, _ := strings.Cut(string(p.Body), `"thresholdPercent":`)
		text, _, _ := strings.Cut(rest, ",")
		n, _ := strconv.Atoi(text)
		list = append(list, n)
	}
	return list
}

// expectAlerts checks the thresholds of the posts since the last check.
func (b *harness) expectAlerts(about string, want ...int) {
	b.Helper()
	if got := percents(b.takePosts()); !slices.Equal(got, want) {
		b.Errorf("%s: alerts for %v percent, want %v", about, got, want)
	}
}

// reportOutcome reports a status for each of the posts to the ledger.
func (b *harness) reportOutcome(posts []abi.Post, status uint64) {
	b.Helper()
	for _, p := range posts {
		command := abi.Posted{ID: p.ID, Status: status}
		b.call(command.Encode())
	}
}

// acknowledgeAll reports that all posts succeeded.
func (b *harness) acknowledgeAll() {
	b.Helper()
	b.reportOutcome(b.Posts, 204)
}

func TestAlertsOncePerPeriod(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.expectAlerts("nothing spent")
	b.spend(799)
	b.expectAlerts("79.9 percent")
	b.spend(1)
	b.acknowledgeAll()
	b.expectAlerts("80 percent", 80)
	b.spend(199)
	b.expectAlerts("99.9 percent")
	b.spend(1)
	b.acknowledgeAll()
	b.expectAlerts("100 percent", 100)
	b.spend(500)
	b.put(10, month(), hook)
	b.expectAlerts("above 100 percent, after an unrelated Put")
	b.now += 11 * calendar.DayMs // December
	b.put(10, calendar.NewPeriod(calendar.Monthly, 0, calendar.Day(b.now)), hook)
	b.expectAlerts("a new month")
	b.spend(1000)
	b.expectAlerts("both at once in the new month", 80, 100)
	b.now += 31 * calendar.DayMs // this counts as January's spending
	b.spend(1000)
	b.expectAlerts("both at once in the month after", 80, 100)
}

// TestRaisedBudget checks that an alert for a threshold is sent again only if a raised budget put the spending below
// it.
func TestRaisedBudget(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(1000)
	b.acknowledgeAll()
	b.expectAlerts("100 percent", 80, 100)
	b.put(12, month(), hook) // 83 percent
	b.expectAlerts("raised to 12")
	b.spend(200)
	b.acknowledgeAll()
	b.expectAlerts("100 percent of 12", 100)
	b.put(100, month(), hook)
	b.expectAlerts("raised to 100")
	b.spend(6800)
	b.expectAlerts("80 percent of 100", 80)
}

func TestNoAlertsWithoutAnEndpoint(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), doc.Alerts{})
	b.spend(1000)
	b.expectAlerts("without an endpoint")
	b.expectOnlySummary()
	b.put(10, month(), hook)
	b.expectAlerts("an endpoint after the budget was spent", 80, 100)
	b.put(10, month(), doc.Alerts{})
	b.now += 2 * calendar.DayMs
	if _, err := b.Ring(b.now); err != nil {
		t.Fatal(err)
	}
	b.expectAlerts("pending alerts of a removed endpoint")
	zero := newHarness(t)
	zero.put(0, month(), hook)
	zero.spend(1)
	zero.expectAlerts("a budget of 0")
}

// TestNewEndpoint checks that a new endpoint receives alerts for the thresholds reached, but none of the old
// endpoint's pending alerts.
func TestNewEndpoint(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(900)
	b.expectAlerts("80 percent", 80)
	b.put(10, month(), doc.Alerts{URL: "https://other.example/", Secret: []byte("another secret")})
	if posts := b.takePosts(); len(posts) != 1 || posts[0].URL != "https://other.example/" || !strings.Contains(string(posts[0].Body), `"thresholdPercent":80`) {
		t.Errorf("%+v", posts)
	}
	b.spend(100)
	if posts := b.takePosts(); len(posts) != 1 || posts[0].URL != "https://other.example/" {
		t.Errorf("%+v", posts)
	}
}

// TestNewSecret checks that setting a new secret does not send alerts again, but setting a new URL with the same
// secret does.
func TestNewSecret(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(900)
	old := b.takePosts()
	rotated := doc.Alerts{URL: hook.URL, Secret: []byte("another secret")}
	b.put(10, month(), rotated)
	b.expectAlerts("a new secret")
	b.now += 10_000
	if _, err := b.Ring(b.now); err != nil {
		t.Fatal(err)
	}
	again := b.takePosts()
	if len(old) != 1 || len(again) != 1 || old[0].ID != again[0].ID || again[0].Headers[3].Value != signed(rotated.Secret, again[0]) {
		t.Errorf("%+v", again)
	}
	b.put(10, month(), doc.Alerts{URL: "https://other.example/", Secret: rotated.Secret})
	if posts := b.takePosts(); len(posts) != 1 || posts[0].URL != "https://other.example/" {
		t.Errorf("a new URL: %+v", posts)
	}
}

// signed returns the expected signature of a post.
func signed(secret []byte, p abi.Post) string {
	headers := map[string]string{}
	for _, h := range p.Headers {
		headers[h.Name] = h.Value
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", headers["webhook-id"], headers["webhook-timestamp"], p.Body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// TestSignature verifies a post as a receiver does, according to Standard Webhooks.
func TestSignature(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(850)
	posts := b.takePosts()
	if len(posts) != 1 {
		t.Fatalf("%d posts", len(posts))
	}
	headers := map[string]string{}
	for _, h := range posts[0].Headers {
		headers[h.Name] = h.Value
	}
	if want := signed(hook.Secret, posts[0]); headers["webhook-signature"] != want {
		t.Errorf("signature %q, want %q", headers["webhook-signature"], want)
	}
	if headers["webhook-timestamp"] != strconv.Itoa(start/1000) || headers["content-type"] != "application/json" || headers["webhook-id"] != posts[0].ID || posts[0].URL != hook.URL {
		t.Errorf("%+v", posts[0])
	}
	const want = `{"type":"budget.threshold","id":"evt_proj_1_20758_1_80","timestamp":"2026-11-21T08:00:00.000Z","data":{"projectId":"proj_1",` +
		`"thresholdPercent":80,"budget":{"limit":10,"used":8.5,"start":"2026-11-01T00:00:00.000Z","end":"2026-12-01T00:00:00.000Z"}}}`
	if string(posts[0].Body) != want {
		t.Errorf("got %s\nwant %s", posts[0].Body, want)
	}
}

// The alert of a group or the deployment names it, also after it was renamed.
func TestAlertNamesTheNode(t *testing.T) {
	for id, level := range map[string]string{"grp_1": "group", "root": "deployment"} {
		b := newHarness(t)
		b.Name = id
		for _, name := range []string{"Research", "Über \"us\""} {
			b.version++
			command := ledger.Put{Version: b.version, BudgetPico: 10 * money.Dollar, Period: month(), Alerts: hook, Name: name}
			b.call(command.Encode())
		}
		b.spend(850)
		posts := b.takePosts()
		want := `"data":{"projectId":null,"node":{"level":"` + level + `","id":"` + id + `","name":"Über \"us\""},"thresholdPercent":80,`
		if len(posts) != 1 || !strings.Contains(string(posts[0].Body), want) || !json.Valid(posts[0].Body) {
			t.Errorf("%+v", posts)
		}
		b.reportOutcome(posts, 503)
		b.now += 10_000
		if _, err := b.Ring(b.now); err != nil {
			t.Fatal(err)
		}
		if again := b.takePosts(); len(again) != 1 || string(again[0].Body) != string(posts[0].Body) {
			t.Errorf("repeated: %+v", again)
		}
	}
}

// expectOnlySummary checks that the alarm is set for a summary, and for nothing else.
func (b *harness) expectOnlySummary() {
	b.Helper()
	if b.AlarmMs != b.now+30_000 {
		b.Errorf("alarm at %d, want that of a summary", b.AlarmMs)
	}
}

// delivered removes the summary from the outbox, as a host does after delivering it.
func (b *harness) delivered() { delete(b.Rows, "o/ffffffffffff") }

// retries runs the alarms that are due within forMs and reports a status for each post. It returns the time of each post
// in seconds after the start, and the set of their IDs.
func (b *harness) retries(forMs uint64, status uint64) (after []uint64, ids map[string]bool) {
	b.Helper()
	ids = map[string]bool{}
	for end := b.now + forMs; ; {
		for _, p := range b.Posts {
			after = append(after, (b.now-start)/1000)
			ids[p.ID] = true
		}
		b.reportOutcome(b.takePosts(), status)
		b.delivered()
		if b.AlarmMs == 0 || b.AlarmMs > end {
			return after, ids
		}
		b.now = b.AlarmMs
		if _, err := b.Ring(b.now); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRetries checks that a failed post is repeated after 10 s. After that, the interval doubles each time, up to an
// hour. Retries end after a day.
func TestRetries(t *testing.T) {
	for _, status := range []uint64{0, 199, 301, 404, 500} {
		b := newHarness(t)
		b.put(10, month(), hook)
		b.spend(900)
		after, ids := b.retries(3*calendar.DayMs, status)
		var want []uint64
		for at, wait := uint64(0), uint64(10); at <= 86400; at, wait = at+wait, min(2*wait, 3600) {
			want = append(want, at)
		}
		if !slices.Equal(after, want) || len(ids) != 1 {
			t.Errorf("status %d: after %v\nwant %v (%d ids)", status, after, want, len(ids))
		}
		if b.AlarmMs != 0 {
			t.Errorf("status %d: alarm at %d after the last retry, want none", status, b.AlarmMs)
		}
		b.spend(100)
		if got := percents(b.takePosts()); !slices.Equal(got, []int{100}) {
			t.Errorf("status %d: the next alert is for %v percent", status, got)
		}
	}
}

func TestRetriesEndWithSuccess(t *testing.T) {
	for _, status := range []uint64{200, 204, 299} {
		b := newHarness(t)
		b.put(10, month(), hook)
		b.spend(900)
		first := b.takePosts()
		b.reportOutcome(first, 503)
		b.now += 10_000
		if rang, err := b.Ring(b.now); !rang || err != nil {
			t.Fatalf("%v %v", rang, err)
		}
		again := b.takePosts()
		if len(again) != 1 || string(again[0].Body) != string(first[0].Body) || again[0].ID != first[0].ID || again[0].Headers[2] == first[0].Headers[2] {
			t.Fatalf("retry %+v", again)
		}
		b.reportOutcome(again, status)
		if after, _ := b.retries(3*calendar.DayMs, 500); after != nil {
			t.Errorf("status %d: posted again after %v", status, after)
		}
	}
}

// TestUnexpectedOutcomes checks that repeated outcomes and outcomes of unknown posts change nothing.
func TestUnexpectedOutcomes(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(1000)
	posts := b.takePosts()
	b.reportOutcome(posts[:1], 200)
	b.reportOutcome(posts[:1], 200)
	b.reportOutcome([]abi.Post{{ID: "evt_nobody"}, {}}, 200)
	b.now += 10_000
	if _, err := b.Ring(b.now); err != nil {
		t.Fatal(err)
	}
	b.expectAlerts("the unconfirmed alert", 100)
}

// TestRetriesOfTwoAlerts checks that alerts are retried independently. The alarm is set for the earliest retry, and only
// the alarm sends retries.
func TestRetriesOfTwoAlerts(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(900)
	b.expectAlerts("first alert", 80)
	b.expectAlarm(10_000)
	b.ring(10_000)
	b.expectAlerts("first alert, first retry", 80)
	b.expectAlarm(30_000)
	b.now = start + 12_000
	b.spend(100)
	b.expectAlerts("second alert", 100)
	b.expectAlarm(22_000)
	b.ring(22_000)
	b.expectAlerts("second alert, first retry", 100)
	b.expectAlarm(30_000)
	b.now = start + 31_000
	b.spend(1)
	b.expectAlerts("usage while the alarm is late")
	b.ring(31_000)
	b.expectAlerts("late alarm", 80)
	b.expectAlarm(42_000)
}

func (b *harness) expectAlarm(afterMs uint64) {
	b.Helper()
	if b.AlarmMs != start+afterMs {
		b.Errorf("alarm %d ms after the start, want %d", int64(b.AlarmMs)-start, afterMs)
	}
}

// ring runs the alarm afterMs after the start.
func (b *harness) ring(afterMs uint64) {
	b.Helper()
	b.now = start + afterMs
	if rang, err := b.Ring(b.now); !rang || err != nil {
		b.Fatalf("alarm ran: %t, %v", rang, err)
	}
}

// TestAlertsAreDroppedAfterADay checks that an alert is retried until a day after its creation, inclusive.
func TestAlertsAreDroppedAfterADay(t *testing.T) {
	for late, want := range [][]int{{80}, nil} {
		b := newHarness(t)
		b.put(10, month(), hook)
		b.spend(900)
		b.takePosts()
		b.ring(calendar.DayMs + uint64(late))
		b.expectAlerts(fmt.Sprint(late, " ms after a day"), want...)
	}
}

// TestOneOfTwoAlertsIsDropped checks that dropping one alert does not affect the other.
func TestOneOfTwoAlertsIsDropped(t *testing.T) {
	b := newHarness(t)
	b.put(10, month(), hook)
	b.spend(900)
	b.now += calendar.HourMs
	b.spend(100)
	b.takePosts()
	b.ring(calendar.DayMs + 1)
	b.expectAlerts("a day after the first", 100)
	for n := 0; n < 5 && len(b.Posts) == 0; n++ {
		b.delivered()
		b.ring(b.AlarmMs - start) // for the summary, or for the alert
	}
	b.expectAlerts("the next retry", 100)
	b.reportOutcome([]abi.Post{{ID: "evt_proj_1_20758_1_100"}}, 200)
	if after, _ := b.retries(3*calendar.DayMs, 500); after != nil {
		t.Errorf("posted again after %v", after)
	}
}

// TestAlarmWithoutAlerts checks that an alarm without pending alerts writes nothing.
func TestAlarmWithoutAlerts(t *testing.T) {
	b := newHarness(t)
	b.call(nil)
	if len(b.Rows) != 0 || b.AlarmMs != 0 {
		t.Errorf("%v, alarm %d", b.Rows, b.AlarmMs)
	}
}
