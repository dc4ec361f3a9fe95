package replicas

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/postern-ai/postern/test/fakeprovider"
	"github.com/postern-ai/postern/test/pgtest"
)

// orders is the number of requests with an Idempotency-Key that are in progress when an outage begins.
const orders = 12

// order sends the n-th request with an Idempotency-Key. Every third one is a stream.
func (l *load) order(n int) (*response, error) {
	body := fmt.Sprintf(`{"quality":"cheap","maxTokens":200,"stream":%t,"messages":[{"role":"user","content":"count to 20, order %d"}]}`, n%3 == 0, n)
	q, err := http.NewRequest("POST", l.urls[n%len(l.urls)]+"/api/ai/chat", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header = http.Header{"X-Api-Key": {l.keys[0]}, "Content-Type": {"application/json"}, "Idempotency-Key": {fmt.Sprint("order-", n)}}
	got, err := l.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return &response{got.StatusCode, got.Header, text}, err
}

// TestIdempotentResponsesOutlastAnOutage cuts the replicas off from the database while the provider responds to
// requests with an Idempotency-Key. The callers get the responses. When the database is back, each request is charged
// its cost, and a repeat gets the same response.
func TestIdempotentResponsesOutlastAnOutage(t *testing.T) {
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	p := newProxy(t, s.Address())
	l := newLoad(deploy(t, s, database, p.Addr().String(), shortTimeout))
	for i, how := range []mode{stalls, refuses} {
		responses := l.answeredMeanwhile(i*orders, func() { p.set(how) })
		p.set(passes)
		l.eventually("each server has the database back", func() error {
			for range l.urls {
				if got := l.admin("GET", "projects/"+l.project, ""); got.status != 200 {
					return unexpected{got}
				}
			}
			return nil
		})
		l.eventually("the requests are settled", func() error {
			if open := l.open(); open > 0 {
				return fmt.Errorf("%d reservations and leases are open", open)
			}
			return nil
		})
		want := int64((i + 1) * orders)
		if f := l.figures(); f.requests != want || f.expired != 0 || f.estimated != 0 || math.Abs(f.cost-answerCost*float64(want)) > 1e-9 {
			t.Errorf("outage %d: %+v, want %d requests", how, f, want)
		}
		for n, first := range responses {
			again, err := l.order(i*orders + n)
			l.must(err)
			if again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" || n%3 != 0 && string(again.body) != string(first.body) {
				t.Errorf("outage %d: the repeat of order %d got %s, first %s", how, n, again, first)
			}
		}
	}
	if seen := len(l.upstream.Seen()); seen != 2*orders {
		t.Errorf("the provider got %d requests, want %d", seen, 2*orders)
	}
}

// answeredMeanwhile begins an outage while the provider has requests in progress, beginning with the given number. It
// returns the responses, which arrive before the outage ends.
func (l *load) answeredMeanwhile(from int, outage func()) []*response {
	l.Helper()
	responses := make([]*response, orders)
	var callers sync.WaitGroup
	for n := range responses {
		l.upstream.Next(fakeprovider.Behavior{Kind: "hold"})
		callers.Go(func() {
			got, err := l.order(from + n)
			if err != nil || got.status != 200 {
				l.Errorf("order %d: %v %v", from+n, err, got)
				got = &response{}
			}
			responses[n] = got
		})
	}
	l.eventually("all requests are at the provider", func() error {
		if held := l.upstream.Held(); held < orders {
			return fmt.Errorf("%d of %d", held, orders)
		}
		return nil
	})
	outage()
	l.upstream.Release()
	callers.Wait()
	return responses
}
