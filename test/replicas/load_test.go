package replicas

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/host"
)

// answerCost is the cost in dollars of one response by the model "only". The provider always reports 100 prompt
// tokens and 50 completion tokens.
const answerCost = 0.0002

// load has the callers of one project, and an operator who creates and deactivates keys.
type load struct {
	*deployment
	project string
	keys    []string
	sent    atomic.Int64
	served  atomic.Int64
	refused atomic.Int64 // 503
	stop    chan struct{}
	callers sync.WaitGroup
	active  []string // keys whose creation was acknowledged to the operator
	revoked []string // keys whose deactivation was acknowledged
	denied  int      // changes of keys that got a 503
}

const callers = 8

func newLoad(d *deployment) *load {
	d.Helper()
	l := &load{deployment: d, project: d.newProject("main")}
	for i := range 3 {
		key := d.mustAdmin("POST", "projects/"+l.project+"/keys", fmt.Sprintf(`{"name":"caller %d"}`, i))
		l.keys = append(l.keys, key.get("value").Str)
	}
	return l
}

func (l *load) start() {
	l.stop = make(chan struct{})
	for i := range callers {
		l.callers.Go(func() { l.until(func() { l.call(l.keys[i%len(l.keys)], i%3 == 0) }) })
	}
	l.callers.Go(func() { l.until(l.operate) })
}

func (l *load) until(f func()) {
	for !l.Failed() {
		select {
		case <-l.stop:
			return
		default:
			f()
		}
	}
}

func (l *load) end() {
	close(l.stop)
	l.callers.Wait()
	if l.Failed() {
		l.FailNow()
	}
}

// call sends a request. It must be served, or it must be refused because the database is unavailable.
func (l *load) call(key string, stream bool) {
	l.sent.Add(1)
	got := l.complete(key, stream)
	switch {
	case got.status == 200 && (!stream || bytes.HasSuffix(got.body, []byte("data: [DONE]\n\n"))):
		l.served.Add(1)
	case l.unavailable(got):
		l.refused.Add(1)
	default:
		l.Errorf("a caller got %s %v", got, got.header)
	}
}

// unavailable reports whether a response is a 503 with a time for a retry.
func (l *load) unavailable(got *response) bool {
	return got.status == 503 && got.header.Get("Retry-After") != ""
}

// operate creates a key and deactivates every second one. A key whose change was not acknowledged is forgotten.
func (l *load) operate() {
	created := l.admin("POST", "projects/"+l.project+"/keys", fmt.Sprintf(`{"name":"key %d"}`, l.serial.Add(1)))
	if l.denies(created) {
		return
	}
	key := created.get("value").Str
	if len(l.active) <= len(l.revoked) {
		l.active = append(l.active, key)
		return
	}
	if l.denies(l.admin("POST", "projects/"+l.project+"/keys/"+created.get("id").Str+"/deactivate", "")) {
		return
	}
	l.revoked = append(l.revoked, key)
	l.sent.Add(1)
	got := l.complete(key, false)
	if l.refused.Add(1); got.status != 401 && !l.unavailable(got) {
		l.Errorf("a deactivated key got %s", got)
	}
}

func (l *load) denies(got *response) bool {
	if got.status == 200 || got.status == 201 || got.status == 204 {
		return false
	}
	l.denied++
	if !l.unavailable(got) {
		l.Errorf("the operator got %s %v", got, got.header)
	}
	return true
}

// figures are the totals of the project's usage.
type figures struct {
	requests, expired, estimated, prompt, completion int64 // requests are served ones
	cost, used                                       float64
}

// settled returns the number of requests whose reported usage was booked.
func (f figures) settled() int64 { return f.requests - f.expired - f.estimated }

func (l *load) figures() figures {
	l.Helper()
	body := l.mustAdmin("GET", "projects/"+l.project+"/usage", "")
	number := func(name string) int64 { return body.get("totals." + name).Int() }
	return figures{
		requests: number("outcomes.served"), expired: number("expired"), estimated: number("estimated"),
		prompt: number("promptTokens"), completion: number("completionTokens"), cost: body.get("totals.cost").Num, used: body.get("budget.used").Num,
	}
}

// check runs after the outage and the load. It checks that every acknowledged change is present. It also checks that
// the usage equals the provider's count. The only exceptions are flagged estimates of expired reservations.
func (l *load) check() {
	l.Helper()
	for _, key := range l.active {
		l.want(key, 200)
		l.served.Add(1)
	}
	for _, key := range l.revoked {
		l.want(key, 401)
	}
	answered := l.answered()
	l.reported()
	l.expire()
	var f figures
	l.eventually("every response of the provider is booked", func() error {
		if f = l.figures(); f.requests < answered || f.requests < l.served.Load() {
			return fmt.Errorf("%+v, the provider answered %d, callers %d", f, answered, l.served.Load())
		}
		return nil
	})
	if f.settled() > answered || f.requests > l.sent.Load() || f.prompt != 100*f.settled() || f.completion != 50*f.settled() || f.estimated != 0 {
		l.Errorf("%+v, the provider answered %d", f, answered)
	}
	if f.expired == 0 && math.Abs(f.cost-answerCost*float64(f.settled())) > 1e-9 || math.Abs(f.cost-f.used) > 1e-9 {
		l.Errorf("%+v: the cost does not match", f)
	}
	l.none("deliveries", `SELECT count(*) FROM test.postern_rows WHERE key LIKE 'o/%'`)
	l.expire()
	if again := l.figures(); again.requests != f.requests || again.expired != f.expired || again.cost != f.cost {
		l.Errorf("after another %v: %+v, before %+v", expiry, again, f)
	}
	l.checkMeters()
	l.Logf("%d sent, %d served, %d refused, %d settled, %d expired, %d keys, %d changes denied",
		l.sent.Load(), l.served.Load(), l.refused.Load(), f.settled(), f.expired, len(l.active)+len(l.revoked), l.denied)
}

// expire moves the clocks beyond the lifetime of every reservation. It then waits until all alarms that are due have
// fired. An outage can leave a reservation behind whose request got a 503 and never reached the provider. The
// reservation's alarm books it as expired.
func (l *load) expire() {
	l.Helper()
	l.move(expiry)
	now, err := l.postgres.Query(l.Context(), l.database, "SELECT floor(extract(epoch FROM test.clock_timestamp()) * 1000)::bigint")
	l.must(err)
	l.none("alarms that are due", "SELECT count(*) FROM test.postern_objects WHERE alarm <= "+now)
}

// none waits until a query counts 0.
func (l *load) none(what, query string) {
	l.Helper()
	l.eventually("no "+what, func() error {
		left, err := l.postgres.Query(l.Context(), l.database, query)
		if err != nil || left != "0" {
			return fmt.Errorf("%s %s, %v", left, what, err)
		}
		return nil
	})
}

// checkMeters checks that no key has an open reservation. If a key had one, the reservation's alarm would be lost.
func (l *load) checkMeters() {
	l.Helper()
	if open := l.open(); open > 0 {
		l.Errorf("the meters have %d open reservations", open)
	}
}

// reportTimeout is longer than a lease lives, including its last report.
const reportTimeout = 5 * time.Second

// reported waits until the replicas have reported their leases. If the clocks moved before that, a lease would be
// booked in full until it is reported. It does not wait for reservations that end only when they expire.
func (l *load) reported() {
	l.Helper()
	for end := time.Now().Add(reportTimeout); l.open() > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
}

// open returns the number of open reservations and leases of all meters.
func (l *load) open() (n uint64) {
	l.Helper()
	engine, err := host.NewNative(abi.Config{Catalog: catalog.Default})
	l.must(err)
	objects := &host.StoredObjects{Engine: engine, Store: l.stores[0], Stats: &host.Stats{}}
	defer objects.Wait()
	names, err := l.postgres.Query(l.Context(), l.database,
		fmt.Sprintf("SELECT string_agg(name, ' ') FROM test.postern_objects WHERE class = %d", abi.ClassKeyMeter))
	l.must(err)
	meters := strings.Fields(names)
	if len(meters) < len(l.keys) {
		l.Errorf("%d meters of %d keys", len(meters), len(l.keys))
	}
	for _, name := range meters {
		answer, err := objects.Call(l.Context(), abi.ClassKeyMeter, name, "", (&keymeter.Flush{}).Encode())
		l.must(err)
		reply, err := keymeter.DecodeFlushReply(answer)
		l.must(err)
		n += reply.Open
	}
	return n
}

// want checks the status of a request with a key whose last change was acknowledged. On a busy machine, several
// requests may be necessary.
func (l *load) want(key string, status int) {
	l.Helper()
	l.eventually("the request of an acknowledged key", func() error {
		l.sent.Add(1)
		switch got := l.complete(key, false); {
		case got.status == status:
			return nil
		case !l.unavailable(got):
			l.Fatalf("it got %s, want %d", got, status)
			return nil
		default:
			return unexpected{got}
		}
	})
}

// answered returns the number of requests to which the provider sent a complete response.
func (l *load) answered() (n int64) {
	l.Helper()
	l.eventually("the provider is idle", func() error {
		if n := l.upstream.Active(); n > 0 {
			return fmt.Errorf("%d requests are active", n)
		}
		return nil
	})
	for _, seen := range l.upstream.Seen() {
		if seen.Status == 200 && !seen.Disconnected && strings.Contains(seen.Body, "count to 20") {
			n++
		}
	}
	return n
}
