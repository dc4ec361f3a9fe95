package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// outages are the faults of a store. With "unknown", it is uncertain whether the commit happened.
var outages = []string{"down", "undurable", "unknown"}

const (
	outageRounds  = 5
	outageCallers = 8
	outageLimit   = 1_000_000 // requests per day
)

// outagePressure is load on a host whose store fails now and then.
type outagePressure struct {
	*fixture
	local  *Local
	phase  atomic.Int64 // odd while the store fails
	stop   chan struct{}
	served atomic.Int64
	failed atomic.Int64
	serial atomic.Int64
}

// TestStoreOutage checks a store that fails for a moment under load. The caller gets 503, nothing is sent to the
// provider without a durable admission, and no request that begins after the recovery is refused.
func TestStoreOutage(t *testing.T) {
	for _, fault := range outages {
		t.Run(fault, func(t *testing.T) {
			upstream := NewUpstream()
			defer upstream.Close()
			c, local := newFixtureOf(t, upstream, deployment(upstream))
			c.do("project demo plan=unlimited", fmt.Sprintf("key live demo requestsPerDay=%d", outageLimit))
			p := &outagePressure{fixture: c, local: local, stop: make(chan struct{})}
			callers := p.start()
			for range outageRounds {
				p.atLeast(&p.served, 20)
				p.phase.Add(1)
				local.setFaults(faults{Store: fault})
				p.atLeast(&p.failed, 20)
				local.setFaults(faults{})
				p.phase.Add(1)
			}
			p.atLeast(&p.served, 20)
			close(p.stop)
			callers.Wait()
			c.do("settle")
			p.checkAdmissions(fault)
		})
	}
}

func (p *outagePressure) start() *sync.WaitGroup {
	var callers sync.WaitGroup
	for n := range outageCallers {
		callers.Go(func() {
			for {
				select {
				case <-p.stop:
					return
				default:
					p.ask(n%2 == 0)
				}
			}
		})
	}
	return &callers
}

// ask sends a request. It must succeed if the store worked the whole time.
func (p *outagePressure) ask(stream bool) {
	before := p.phase.Load()
	got, err := p.post(p.serial.Add(1), stream)
	if err != nil {
		p.Error(err)
		return
	}
	failed := got.status == 503 && got.header.Get("Retry-After") != ""
	complete := got.status == 200 && (!stream || strings.HasSuffix(string(got.body), "data: [DONE]\n\n"))
	switch after := p.phase.Load(); {
	case complete:
		p.served.Add(1)
	case !failed:
		p.Errorf("phase %d to %d: %d %s", before, after, got.status, got.body)
	case before == after && before%2 == 0:
		p.Errorf("refused although the store works: %d %s", got.status, got.body)
	default:
		p.failed.Add(1)
	}
}

// atLeast waits until a counter has grown by n.
func (p *outagePressure) atLeast(counter *atomic.Int64, n int64) {
	p.Helper()
	from := counter.Load()
	for end := time.Now().Add(patience); counter.Load() < from+n; time.Sleep(time.Millisecond) {
		if p.Failed() || time.Now().After(end) {
			close(p.stop)
			p.Fatalf("%d more, want %d", counter.Load()-from, n)
		}
	}
}

var admissionsLeft = regexp.MustCompile(`"day";r=(\d+)`)

// checkAdmissions compares the admissions in the store with the requests at the provider. It also compares them with
// the usage after unsettled reservations have expired. If an admission was reported as failed, its reservation is
// returned.
func (p *outagePressure) checkAdmissions(fault string) {
	p.Helper()
	dispatched := int64(len(p.Upstream.Seen()))
	last, err := p.post(p.serial.Add(1), false)
	p.must(err)
	left, err := strconv.ParseInt(admissionsLeft.FindStringSubmatch(last.header.Get("RateLimit"))[1], 10, 64)
	p.must(err)
	admitted := outageLimit - left - 1
	if admitted < dispatched || fault != "unknown" && admitted != dispatched || dispatched < p.served.Load() {
		p.Errorf("%d admissions are in the store; the provider got %d requests and %d were served", admitted, dispatched, p.served.Load())
	}
	p.do("advance 10m", "settle")
	got, err := p.adminCall("GET", "/api/admin/projects/"+p.names["demo"]+"/usage", "")
	p.must(err)
	total := func(name string) int64 { return gjson.GetBytes(got.body, "totals."+name).Int() }
	requests, reported := total("outcomes.served")-1, total("promptTokens")/100-1 // without the last one
	t := fmt.Sprintf("%s: %d admissions, %d at the provider, %s", fault, admitted, dispatched, gjson.GetBytes(got.body, "totals").Raw)
	p.Log(t)
	if requests < dispatched || requests > admitted || reported > dispatched || reported+total("expired") != requests {
		p.Error(t)
	}
}

func (p *outagePressure) post(n int64, stream bool) (reply, error) {
	body := fmt.Sprintf(`{"quality":"cheap","stream":%t,"messages":[{"role":"user","content":"count to 9, %d"}]}`, stream, n)
	return p.run.do(request{method: "POST", path: "/api/ai/chat", body: body,
		headers: map[string]string{"x-api-key": p.names["live"], "content-type": "application/json"}})
}
