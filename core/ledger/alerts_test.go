package ledger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
)

// percents are what posts tell of.
func percents(posts []abi.Post) (list []int) {
	for _, p := range posts {
		_, rest, _ := strings.Cut(string(p.Body), `"thresholdPercent":`)
		text, _, _ := strings.Cut(rest, ",")
		n, _ := strconv.Atoi(text)
		list = append(list, n)
	}
	return list
}

func (b *book) told(what string, want ...int) {
	b.Helper()
	if got := percents(b.taken()); !slices.Equal(got, want) {
		b.Errorf("%s: told %v, want %v", what, got, want)
	}
}

// posted tells the ledger what came of all posts.
func (b *book) posted(posts []abi.Post, status uint64) {
	b.Helper()
	for _, p := range posts {
		command := abi.Posted{ID: p.ID, Status: status}
		b.do(command.Encode())
	}
}

// succeed has the receiver take all that is posted.
func (b *book) succeed() {
	b.Helper()
	b.posted(b.Posts, 204)
}

func TestThresholdsAreToldOnceAPeriod(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.told("nothing spent")
	b.spend(799)
	b.told("79.9 percent")
	b.spend(1)
	b.succeed()
	b.told("80 percent", 80)
	b.spend(199)
	b.told("99.9 percent")
	b.spend(1)
	b.succeed()
	b.told("100 percent", 100)
	b.spend(500)
	b.put(10, month(), hook)
	b.told("more, and a change of something else")
	b.now += 11 * calendar.DayMs // December
	b.put(10, calendar.NewPeriod(calendar.Monthly, 0, calendar.Day(b.now)), hook)
	b.told("a new month")
	b.spend(1000)
	b.told("both at once in the new month", 80, 100)
	b.now += 31 * calendar.DayMs // January begins with what is spent
	b.spend(1000)
	b.told("both at once in the month after", 80, 100)
}

// A budget that was raised above the spending is told of again; one that was not enough raised is not.
func TestARaisedBudget(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(1000)
	b.succeed()
	b.told("all", 80, 100)
	b.put(12, month(), hook) // 83 percent
	b.told("raised to 12")
	b.spend(200)
	b.succeed()
	b.told("all again", 100)
	b.put(100, month(), hook)
	b.told("raised to 100")
	b.spend(6800)
	b.told("80 percent of 100", 80)
}

func TestNobodyIsToldWithoutAnAddress(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), doc.Alerts{})
	b.spend(1000)
	b.told("without an address")
	if b.AlarmMs != 0 {
		t.Errorf("an alarm at %d", b.AlarmMs)
	}
	b.put(10, month(), hook)
	b.told("an address when it is spent already", 80, 100)
	b.put(10, month(), doc.Alerts{})
	b.now += 2 * calendar.DayMs
	if _, err := b.Ring(b.now); err != nil {
		t.Fatal(err)
	}
	b.told("what waited for the address that is gone")
	free := newBook(t)
	free.put(0, month(), hook)
	free.spend(1)
	free.told("a budget of nothing")
}

// What waits for an old address does not go to the new one, which is told what holds now.
func TestAnotherAddress(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(900)
	b.told("80 percent", 80)
	b.put(10, month(), doc.Alerts{URL: "https://other.example/", Secret: []byte("another secret")})
	if posts := b.taken(); len(posts) != 1 || posts[0].URL != "https://other.example/" || !strings.Contains(string(posts[0].Body), `"thresholdPercent":80`) {
		t.Errorf("%+v", posts)
	}
	b.spend(100)
	if posts := b.taken(); len(posts) != 1 || posts[0].URL != "https://other.example/" {
		t.Errorf("%+v", posts)
	}
}

// A new secret at the same address tells nothing again; a new address with the same secret does.
func TestAnotherSecret(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(900)
	old := b.taken()
	rotated := doc.Alerts{URL: hook.URL, Secret: []byte("another secret")}
	b.put(10, month(), rotated)
	b.told("a new secret")
	b.now += 10_000
	if _, err := b.Ring(b.now); err != nil {
		t.Fatal(err)
	}
	again := b.taken()
	if len(old) != 1 || len(again) != 1 || old[0].ID != again[0].ID || again[0].Headers[3].Value != signed(rotated.Secret, again[0]) {
		t.Errorf("%+v", again)
	}
	b.put(10, month(), doc.Alerts{URL: "https://other.example/", Secret: rotated.Secret})
	if posts := b.taken(); len(posts) != 1 || posts[0].URL != "https://other.example/" {
		t.Errorf("a new address: %+v", posts)
	}
}

// signed is the signature that a post ought to have.
func signed(secret []byte, p abi.Post) string {
	headers := map[string]string{}
	for _, h := range p.Headers {
		headers[h.Name] = h.Value
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", headers["webhook-id"], headers["webhook-timestamp"], p.Body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// TestSignature verifies a post as a receiver does (Standard Webhooks).
func TestSignature(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(850)
	posts := b.taken()
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

// retries rings alarms as they come due, for so long, and gives the seconds after the first post of each.
func (b *book) retries(forMs uint64, status uint64) (after []uint64, ids map[string]bool) {
	b.Helper()
	ids = map[string]bool{}
	for end := b.now + forMs; ; {
		for _, p := range b.Posts {
			after = append(after, (b.now-start)/1000)
			ids[p.ID] = true
		}
		b.posted(b.taken(), status)
		if b.AlarmMs == 0 || b.AlarmMs > end {
			return after, ids
		}
		b.now = b.AlarmMs
		if _, err := b.Ring(b.now); err != nil {
			b.Fatal(err)
		}
	}
}

// A post that fails goes out again, after 10 s and then twice as long each time, up to an hour, for a day.
func TestRetries(t *testing.T) {
	for _, status := range []uint64{0, 199, 301, 404, 500} {
		b := newBook(t)
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
			t.Errorf("given up, and there is an alarm")
		}
		b.spend(100)
		if got := percents(b.taken()); !slices.Equal(got, []int{100}) {
			t.Errorf("the next alert: %v", got)
		}
	}
}

func TestRetriesEndWithSuccess(t *testing.T) {
	for _, status := range []uint64{200, 204, 299} {
		b := newBook(t)
		b.put(10, month(), hook)
		b.spend(900)
		first := b.taken()
		b.posted(first, 503)
		b.now += 10_000
		if rang, err := b.Ring(b.now); !rang || err != nil {
			t.Fatalf("%v %v", rang, err)
		}
		again := b.taken()
		if len(again) != 1 || string(again[0].Body) != string(first[0].Body) || again[0].ID != first[0].ID || again[0].Headers[2] == first[0].Headers[2] {
			t.Fatalf("again %+v", again)
		}
		b.posted(again, status)
		if after, _ := b.retries(3*calendar.DayMs, 500); after != nil {
			t.Errorf("status %d: told again after %v", status, after)
		}
	}
}

// What a host says of a post that nobody waits for changes nothing.
func TestPostedTwice(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(1000)
	posts := b.taken()
	b.posted(posts[:1], 200)
	b.posted(posts[:1], 200)
	b.posted([]abi.Post{{ID: "evt_nobody"}, {}}, 200)
	b.now += 10_000
	if _, err := b.Ring(b.now); err != nil {
		t.Fatal(err)
	}
	b.told("the other one", 100)
}

// Each alert has retries of its own; the alarm is for the one that is due first, and only it sends them.
func TestRetriesOfTwoAlerts(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(900)
	b.told("the first", 80)
	b.alarmIs(10_000)
	b.ring(10_000)
	b.told("again", 80)
	b.alarmIs(30_000)
	b.now = start + 12_000
	b.spend(100)
	b.told("the second", 100)
	b.alarmIs(22_000)
	b.ring(22_000)
	b.told("the second again", 100)
	b.alarmIs(30_000)
	b.now = start + 31_000
	b.spend(1)
	b.told("usage when the alarm is late")
	b.ring(31_000)
	b.told("the late alarm", 80)
	b.alarmIs(42_000)
}

func (b *book) alarmIs(afterMs uint64) {
	b.Helper()
	if b.AlarmMs != start+afterMs {
		b.Errorf("the alarm is set to %d ms after the start, want %d", int64(b.AlarmMs)-start, afterMs)
	}
}

// ring runs the alarm at a time after the start.
func (b *book) ring(afterMs uint64) {
	b.Helper()
	b.now = start + afterMs
	if rang, err := b.Ring(b.now); !rang || err != nil {
		b.Fatalf("rang %t, %v", rang, err)
	}
}

// A day after its threshold an alert is sent for the last time.
func TestAlertsAreGivenUpAfterADay(t *testing.T) {
	for late, want := range [][]int{{80}, nil} {
		b := newBook(t)
		b.put(10, month(), hook)
		b.spend(900)
		b.taken()
		b.ring(calendar.DayMs + uint64(late))
		b.told(fmt.Sprint(late, " ms after a day"), want...)
	}
}

// Giving up one alert leaves the others as they are.
func TestOneOfTwoAlertsIsGivenUp(t *testing.T) {
	b := newBook(t)
	b.put(10, month(), hook)
	b.spend(900)
	b.now += calendar.HourMs
	b.spend(100)
	b.taken()
	b.ring(calendar.DayMs + 1)
	b.told("a day after the first", 100)
	b.ring(b.AlarmMs - start)
	b.told("then", 100)
	b.posted([]abi.Post{{ID: "evt_proj_1_20758_1_100"}}, 200)
	if after, _ := b.retries(3*calendar.DayMs, 500); after != nil {
		t.Errorf("told again after %v", after)
	}
}

// An alarm that finds nothing to tell writes nothing.
func TestAlarmWithoutAlerts(t *testing.T) {
	b := newBook(t)
	b.do(nil)
	if len(b.Rows) != 0 || b.AlarmMs != 0 {
		t.Errorf("%v, alarm %d", b.Rows, b.AlarmMs)
	}
}
