package conformance

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/host"
)

// leaseHosts runs a test on each host with the machine's clock, because leases end after a certain time. Such tests
// run alone, before the parallel ones.
func leaseHosts(t *testing.T, test func(*testing.T, *fixture)) {
	local := func(name string, start func(*Upstream) (*Local, error)) {
		t.Run(name, func(t *testing.T) {
			upstream := NewUpstream()
			defer upstream.Close()
			l, err := start(upstream)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			l.wall.Store(true)
			test(t, leaseFixture(t, &Runner{URL: l.URL, ControlURL: l.ControlURL, Client: newClient(), Upstream: upstream, Native: true}))
		})
	}
	local("native", func(u *Upstream) (*Local, error) { return NewLocal(deployment(u), host.NewNative) })
	t.Run("workerd", func(t *testing.T) {
		upstream := NewUpstream()
		defer upstream.Close()
		url := startWorkerd(t, deployment(upstream))
		test(t, leaseFixture(t, &Runner{URL: url, Client: newClient(), Upstream: upstream, Workerd: true}))
	})
}

func leaseFixture(t *testing.T, r *Runner) *fixture {
	x := &run{Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: time.Now(), flights: map[string]startedRequest{}}
	return &fixture{run: x, T: t}
}

// storm sends requests from several callers until the test ends it.
type storm struct {
	c     *fixture
	over  atomic.Bool
	all   sync.WaitGroup
	mu    sync.Mutex
	sent  int
	count map[int]int // responses by status
	begun map[int][]time.Time
}

// members are the fields of non-streaming and streaming requests, which alternate. A response costs 0.001 dollars,
// and its reservation is 0.0016 dollars.
var members = [2]string{`"model":"gpt-5.4","max_tokens":100`, `"model":"gpt-5.4","max_tokens":100,"stream":true`}

// rage makes callers send requests with a key. Each caller sends its next request after the response to the last one.
// most is the maximum number of requests of all callers together.
func (c *fixture) rage(key string, callers, most int) *storm {
	s := &storm{c: c, count: map[int]int{}, begun: map[int][]time.Time{}}
	for range callers {
		s.all.Go(func() {
			for !s.over.Load() {
				s.mu.Lock()
				n := s.sent
				s.sent++
				s.mu.Unlock()
				if n >= most {
					return
				}
				at := time.Now()
				got, err := c.run.do(c.completion(key, members[n%2], n))
				c.must(err)
				if got.status == 200 && strings.Contains(string(got.body), `"code"`) {
					c.Errorf("a stream was cut: %s", got.body[max(0, len(got.body)-500):])
				}
				s.mu.Lock()
				s.count[got.status]++
				s.begun[got.status] = append(s.begun[got.status], at)
				s.mu.Unlock()
			}
		})
	}
	return s
}

func (s *storm) statuses() map[int]int {
	s.all.Wait()
	s.c.must(s.c.settled())
	return s.count
}

// TestBudgetOfLeases repeatedly sends 500 requests at once, streaming and non-streaming, until a dollar is spent. The
// budget is never overspent, and no request is refused as long as the remaining budget covers its reservation.
func TestBudgetOfLeases(t *testing.T) {
	leaseHosts(t, func(t *testing.T, c *fixture) {
		c.do("routing headMs=40000 firstByteMs=40000 idleMs=40000 totalMs=60000", "project site plan=unlimited budget=1", "key live site")
		got := c.rage("live", 500, 1600).statuses()
		spent := c.used("site", "live")
		if want := 0.001 * float64(got[200]); !near(spent, want) {
			t.Errorf("%v is booked for %d responses", spent, got[200])
		}
		if got[200]+got[402] != 1600 || spent > 1 {
			t.Errorf("statuses %v, spent %v", got, spent)
		}
		for n := 1600; 1-spent >= 0.0016; n++ {
			response, err := c.run.do(c.completion("live", members[n%2], n))
			c.must(err)
			if response.status != 200 {
				t.Fatalf("%v is spent, and a request is refused: %d %s", spent, response.status, response.body)
			}
			spent += 0.001
		}
		c.must(c.settled())
		response, err := c.run.do(c.completion("live", members[0], 9999))
		c.must(err)
		if used := c.used("site", "live"); used > 1 || used < 0.998 || response.status != 402 {
			t.Errorf("used %v, then %d", used, response.status)
		}
		t.Logf("%v, then one at a time until %v is spent", got, spent)
	})
}

// TestDeactivationUnderLoad repeatedly deactivates a key that 50 callers use. No request that begins after the
// acknowledgment is admitted, and none is refused after the key is reactivated.
func TestDeactivationUnderLoad(t *testing.T) {
	leaseHosts(t, func(t *testing.T, c *fixture) {
		c.do("project site plan=unlimited budget=1000", "key live site")
		for range 3 {
			s := c.rage("live", 50, 1<<30)
			time.Sleep(1500 * time.Millisecond)
			// This is not an admin step, because an admin step waits until no exchange is active. During the storm,
			// some exchange is always counting refusals.
			answer, err := c.run.adminCall("POST", c.run.expand("/api/admin/projects/$site/keys/$live.id/deactivate"), "")
			c.must(err)
			if answer.status != 200 {
				t.Fatalf("the deactivation is answered with %d", answer.status)
			}
			acknowledged := time.Now()
			time.Sleep(300 * time.Millisecond)
			s.over.Store(true)
			got := s.statuses()
			for _, at := range s.begun[200] {
				if at.After(acknowledged) {
					t.Fatalf("a request that began %v after the acknowledgement was admitted", at.Sub(acknowledged))
				}
			}
			if got[200] == 0 || got[401] == 0 || len(got) != 2 {
				t.Errorf("statuses %v", got)
			}
			c.do("admin POST /api/admin/projects/$site/keys/$live.id/reactivate")
			response, err := c.run.do(c.completion("live", members[0], 1))
			c.must(err)
			if response.status != 200 {
				t.Errorf("after the reactivation: %d", response.status)
			}
			t.Logf("%v", got)
		}
	})
}

// TestHotKeyNeedsFewCalls counts the object calls of a hot key. Their number depends more on the elapsed time than on
// the number of requests, because a lease is reported and renewed at intervals. Without leases, each request would
// make two calls.
func TestHotKeyNeedsFewCalls(t *testing.T) {
	leaseHosts(t, func(t *testing.T, c *fixture) {
		c.do("project site plan=unlimited budget=1000", "key live site", "stats reset")
		began := time.Now()
		got := c.rage("live", 8, 1000).statuses()
		most := min(200+time.Since(began).Milliseconds()/25, 500)
		calls := gjson.GetBytes(must(c.controlBody(http.MethodGet, "stats", nil)), "objectCalls")
		if n := calls.Get("KeyMeter").Int() + calls.Get("Ledger").Int(); got[200] != 1000 || n > most {
			t.Errorf("statuses %v, %d calls, expected at most %d", got, n, most)
		}
		t.Logf("%s", calls.Raw)
	})
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
