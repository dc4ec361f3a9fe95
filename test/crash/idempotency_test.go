package crash

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/postern-ai/postern/test/fakeprovider"
	"github.com/postern-ai/postern/test/pgtest"
)

// TestIdempotencyKeys kills a server while requests are in flight, on both stores. If a request was sent to a
// provider, it must not be sent again, unless its caller asks for that.
func TestIdempotencyKeys(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { newKeyed(deploy(t)).check() })
	t.Run("PostgreSQL", func(t *testing.T) { newKeyed(deployOn(t, pgtest.Start(t))).check() })
}

type keyed struct {
	*deployment
	main *project
	*account
	dispatched int // requests that the provider must have seen
}

func newKeyed(d *deployment) *keyed {
	k := &keyed{deployment: d, main: d.newProject("main", "")}
	k.account = d.newAccount(k.main, "keyed", "")
	return k
}

const rerunHeader = "X-Postern-Idempotency-Rerun"

// ask sends a request with an idempotency key. Every key has its own request. Every second request is a stream.
func (k *keyed) ask(n int, rerun bool) (*response, error) {
	p := prompt{tag: k.tag, text: fmt.Sprint("count to 5, number ", n), maxTokens: amounts[0], stream: n%2 == 1}
	request, err := http.NewRequest("POST", k.url("/api/ai/chat"), reader(p.String()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Api-Key", k.value)
	request.Header.Set("Idempotency-Key", fmt.Sprint("order-", n))
	if rerun {
		request.Header.Set(rerunHeader, "true")
	}
	return k.do(request)
}

// expect sends a request and checks the status and the error code.
func (k *keyed) expect(n int, rerun bool, status int, code string) *response {
	k.Helper()
	got, err := k.ask(n, rerun)
	if err != nil {
		k.Fatal(err)
	}
	if got.status != status || got.get("code").Str != code {
		k.Errorf("request %d: %s, want %d %s", n, got, status, code)
	}
	return got
}

// expectUnknown checks that the outcome is unknown, and that SDKs do not retry.
func (k *keyed) expectUnknown(n int) {
	k.Helper()
	got := k.expect(n, false, 409, "idempotency_outcome_unknown")
	if h := got.header; h.Get("X-Should-Retry") != "false" || h.Get("Retry-After") != "" || h.Get("Retry-After-Ms") != "" {
		k.Errorf("request %d: %v", n, h)
	}
}

func (k *keyed) expectDispatched() {
	k.Helper()
	if seen := len(k.upstream.Seen()); seen != k.dispatched {
		k.Errorf("the provider got %d requests, want %d", seen, k.dispatched)
	}
}

func (k *keyed) check() {
	const inFlight = 5
	k.crash(inFlight)
	if k.postgres != nil {
		// Another replica might still be running the requests. Until their reservations have expired, nobody knows
		// their outcome.
		for n := range inFlight {
			if got := k.expect(n, true, 409, "idempotency_in_progress"); got.header.Get("Retry-After") != "1" {
				k.Errorf("request %d: %v", n, got.header)
			}
		}
		k.step(expiry)
	}
	for n := range inFlight {
		k.expectUnknown(n)
	}
	k.eventually("the lost requests are booked as estimates", func() error {
		f := k.figures(k.main)
		if least, most := leastAmount*inFlight, mostAmount*inFlight; f.expired != inFlight || f.cost < least || f.cost > most {
			return fmt.Errorf("%+v", f)
		}
		return nil
	})
	k.expectDispatched()
	k.rerun()
	k.expectUnknown(1)
	k.expectDispatched()
	for n := range 6 {
		k.crashAfter(inFlight + n)
	}
}

// crash kills the server with requests in flight, and starts it again.
func (k *keyed) crash(inFlight int) {
	k.Helper()
	callers := make(chan struct{})
	for n := range inFlight {
		k.upstream.Next(fakeprovider.Behavior{Kind: "hold"})
		go func() {
			_, _ = k.ask(n, false)
			callers <- struct{}{}
		}()
	}
	k.dispatched += inFlight
	k.waitForHeld(inFlight)
	k.kill()
	for range inFlight {
		<-callers
	}
	k.upstream.Release()
	k.start()
}

func (k *keyed) waitForHeld(n int) {
	k.Helper()
	k.eventually("requests are in flight", func() error {
		if held := k.upstream.Held(); held != n {
			return fmt.Errorf("%d", held)
		}
		return nil
	})
}

// rerun runs request 0 again, four times at once. One of the four reaches the provider. The others get a 409.
func (k *keyed) rerun() {
	k.Helper()
	k.upstream.Next(fakeprovider.Behavior{Kind: "hold"})
	k.dispatched++
	const callers = 4
	answers := make(chan *response, callers)
	for range callers {
		go func() {
			got, _ := k.ask(0, true)
			answers <- got
		}()
	}
	for range callers - 1 {
		if got := <-answers; got == nil || got.get("code").Str != "idempotency_in_progress" {
			k.Fatalf("a concurrent rerun: %s", got)
		}
	}
	k.waitForHeld(1)
	k.upstream.Release()
	if got := <-answers; got == nil || got.status != 200 || got.header.Get("Idempotent-Replayed") != "" {
		k.Errorf("the rerun: %s", got)
	}
	for _, rerun := range []bool{false, true} {
		if got := k.expect(0, rerun, 200, ""); got.header.Get("Idempotent-Replayed") != "true" {
			k.Errorf("after the rerun: %s", got)
		}
	}
}

// crashAfter kills the server as soon as a caller has a complete response. This response must be replayed.
func (k *keyed) crashAfter(n int) {
	k.Helper()
	k.dispatched++
	first := k.expect(n, false, 200, "")
	k.kill()
	k.start()
	again := k.expect(n, false, 200, "")
	if again.header.Get("Idempotent-Replayed") != "true" || len(first.body) == 0 || n%2 == 0 && string(again.body) != string(first.body) {
		k.Errorf("request %d was acknowledged with %s, and then %s", n, first, again)
	}
	k.expectDispatched()
}
