package ledger_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// announcement is the body of an announcement.
type announcement struct {
	Type, ID, Timestamp string
	Data                struct {
		ProjectID string
		Count     int
		Violation struct{ ID, Rule, Severity, State string }
	}
}

// announcements returns the announcements since the last call, each as "ID: count×rule of the strongest", and their
// posts.
func (b *harness) announcements() (texts []string, posts []abi.Post) {
	b.Helper()
	posts = b.takePosts()
	for _, p := range posts {
		var a announcement
		if err := json.Unmarshal(p.Body, &a); err != nil || a.Type != "violation.created" || a.ID != p.ID {
			b.Errorf("%v in %s", err, p.Body)
		}
		texts = append(texts, fmt.Sprintf("%s: %d×%s", a.ID, a.Data.Count, a.Data.Violation.Rule))
	}
	return texts, posts
}

func (b *harness) expectAnnounced(about string, want ...string) []abi.Post {
	b.Helper()
	got, posts := b.announcements()
	if !slices.Equal(got, want) {
		b.Errorf("%s: announced %q, want %q", about, got, want)
	}
	return posts
}

// at moves the clock to afterMs after the start, and runs the alarm if it is due.
func (b *harness) at(afterMs uint64) {
	b.Helper()
	b.now = start + afterMs
	if _, err := b.Ring(b.now); err != nil {
		b.Fatal(err)
	}
}

func newAnnouncer(t *testing.T) *harness {
	b := newHarness(t)
	b.put(10, month(), hook)
	return b
}

// severe returns a group of violations of a rule with the given severity.
func severe(rule, severity string, firstMs uint64) ledger.ViolationGroup {
	g := group(rule, firstMs, 1)
	g.Severity = severity
	return g
}

// TestAnnouncement checks the body and the signature of an announcement.
func TestAnnouncement(t *testing.T) {
	b := newAnnouncer(t)
	g := group("personal.card", start-1, 3)
	g.RequestID, g.Category, g.Path, g.End, g.Policy, g.Excerpt = "req_1", "personal", `input["é"]`, 16, 7, "42"
	b.violate(g)
	posts := b.takePosts()
	if len(posts) != 1 || posts[0].URL != hook.URL || posts[0].Headers[3].Value != signed(hook.Secret, posts[0]) {
		t.Fatalf("%+v", posts)
	}
	want := `{"type":"violation.created","id":"evt_proj_1_v1","timestamp":"2026-11-21T08:00:00.000Z","data":{"projectId":"proj_1","count":1,` +
		`"violation":{"id":"vio_` + b.all()[0].ID + `","state":"open","rule":"personal.card","category":"personal","severity":"high",` +
		`"decision":"review","direction":"input","model":"m","key":"key_1","requestId":"req_1","path":"input[\"é\"]","start":0,"end":16,` +
		`"riskScore":40,"policyVersion":7,"count":3,"version":1,"fingerprint":null,"excerpt":"42","firstAt":"2026-11-21T07:59:59.999Z",` +
		`"lastAt":"2026-11-21T07:59:59.999Z","note":null,"changedAt":null,"changedBy":null}}}`
	if string(posts[0].Body) != want {
		t.Errorf("got %s\nwant %s", posts[0].Body, want)
	}
}

// TestOneAnnouncementPerMinute checks that the next announcement sums up the violations of a minute and names the
// first one with the highest severity. Further findings of a known violation are not announced.
func TestOneAnnouncementPerMinute(t *testing.T) {
	b := newAnnouncer(t)
	b.violate(severe("a", "low", start), severe("b", "high", start), severe("c", "high", start))
	b.expectAnnounced("the first", "evt_proj_1_v1: 3×b")
	b.acknowledge("evt_proj_1_v1")
	b.now += 1000
	b.violate(severe("b", "high", start))
	b.violate(severe("d", "medium", start+1000))
	b.violate(severe("e", "critical", start+1001), severe("f", "low", start+1002))
	b.expectAnnounced("within the minute")
	b.at(59_999)
	b.expectAnnounced("before the minute ends")
	b.at(60_000)
	b.expectAnnounced("after a minute", "evt_proj_1_v2: 3×e")
	b.acknowledge("evt_proj_1_v2")
	b.at(2 * calendar.HourMs)
	b.expectAnnounced("nothing new")
	b.violate(severe("g", "low", b.now))
	b.expectAnnounced("a new one", "evt_proj_1_v3: 1×g")
}

func (b *harness) acknowledge(id string) {
	b.Helper()
	command := abi.Posted{ID: id, Status: 200}
	b.call(command.Encode())
}

// TestUnconfirmedAnnouncement checks that an announcement is repeated until it is confirmed, while all others wait.
// At most one is stored, however many violations there are.
func TestUnconfirmedAnnouncement(t *testing.T) {
	b := newAnnouncer(t)
	b.violate(severe("a", "low", start))
	first := b.expectAnnounced("the first", "evt_proj_1_v1: 1×a")
	b.reportOutcome(first, 500)
	largest := 0
	for i := range uint64(100) {
		b.at(i * 1000)
		b.violate(severe(fmt.Sprint("rule", i), "low", b.now))
		largest = max(largest, len(b.Rows["al"])+len(b.Rows["vs"]))
	}
	got, posts := b.announcements()
	if want := []string{"evt_proj_1_v1: 1×a", "evt_proj_1_v1: 1×a", "evt_proj_1_v1: 1×a"}; !slices.Equal(got, want) {
		t.Errorf("announced %q, want %q", got, want)
	}
	if largest > 2048 {
		t.Errorf("%d bytes are stored", largest)
	}
	b.reportOutcome(posts[:1], 200)
	b.expectAnnounced("after the confirmation", "evt_proj_1_v2: 100×rule0")
	b.reportOutcome(posts, 200) // repeats
	b.at(99_000 + 10_000)
	b.expectAnnounced("a retry", "evt_proj_1_v2: 100×rule0")
}

// TestAnnouncementIsGivenUp checks that after a day without a confirmation, the next announcement is sent.
func TestAnnouncementIsGivenUp(t *testing.T) {
	b := newAnnouncer(t)
	b.violate(severe("a", "low", start))
	b.violate(severe("b", "low", start))
	b.retries(calendar.DayMs, 503)
	b.takePosts()
	b.at(calendar.DayMs + calendar.HourMs)
	b.expectAnnounced("a day later", "evt_proj_1_v2: 1×b")
}

// TestAnnouncementsWithoutAnEndpoint checks that violations from before there was an endpoint are not announced. A
// new endpoint receives the announcements that are still waiting.
func TestAnnouncementsWithoutAnEndpoint(t *testing.T) {
	b := newHarness(t)
	b.violate(severe("a", "low", start))
	b.expectOnlySummary()
	b.put(10, month(), hook)
	b.expectAnnounced("an endpoint later")
	b.violate(severe("b", "low", start))
	b.expectAnnounced("with an endpoint", "evt_proj_1_v1: 1×b")
	b.violate(severe("c", "low", start))
	b.put(10, month(), doc.Alerts{URL: "https://other.example/", Secret: hook.Secret})
	b.at(60_000)
	if posts := b.expectAnnounced("a new endpoint", "evt_proj_1_v2: 1×c"); len(posts) == 1 && posts[0].URL != "https://other.example/" {
		t.Error(posts[0].URL)
	}
	b.violate(severe("d", "low", start))
	b.put(10, month(), doc.Alerts{})
	b.at(calendar.DayMs)
	b.expectAnnounced("no endpoint")
	b.put(10, month(), hook)
	b.at(2 * calendar.DayMs)
	b.expectAnnounced("an endpoint again")
}

// TestAnnouncementsAndBudgetAlerts checks that announcements and budget alerts are delivered independently.
func TestAnnouncementsAndBudgetAlerts(t *testing.T) {
	b := newAnnouncer(t)
	b.violate(severe("a", "low", start))
	posts := b.takePosts()
	b.spend(1000)
	posts = append(posts, b.takePosts()...)
	if len(posts) != 3 {
		t.Fatalf("%d posts", len(posts))
	}
	b.reportOutcome(posts[1:2], 200)
	b.violate(severe("b", "low", start))
	b.reportOutcome(posts[:1], 200)
	b.at(10_000)
	b.expectAlerts("the unconfirmed budget alert", 100)
	b.reportOutcome(posts[2:], 200)
	b.at(60_000)
	b.expectAnnounced("after a minute", "evt_proj_1_v2: 1×b")
}

// TestAnnouncementsWhenTheClockGoesBack checks that a clock that was an hour ahead does not stop announcements.
func TestAnnouncementsWhenTheClockGoesBack(t *testing.T) {
	b := newAnnouncer(t)
	b.now = start + calendar.HourMs
	b.violate(severe("a", "low", b.now))
	b.expectAnnounced("an hour ahead", "evt_proj_1_v1: 1×a")
	b.acknowledge("evt_proj_1_v1")
	b.now = start
	b.violate(severe("b", "low", b.now))
	b.expectAnnounced("back again", "evt_proj_1_v2: 1×b")
}
