package crash

import (
	"fmt"
	"math"
	"sync"
	"syscall"
	"testing"

	"github.com/postern-ai/postern/test/pgtest"
)

// TestLostLeases kills a server that holds a lease, on both stores. The usage is then at least what the callers got,
// and at most that and the lent budget. A server that shuts down returns its leases, so nothing is booked for them.
func TestLostLeases(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { newLender(deploy(t)).check() })
	t.Run("PostgreSQL", func(t *testing.T) { newLender(deployOn(t, pgtest.Start(t))).check() })
}

// lender is a key whose requests all reserve the same amount.
type lender struct {
	*deployment
	main *project
	*account
}

func newLender(d *deployment) *lender {
	l := &lender{deployment: d, main: d.newProject("main", "")}
	l.account = d.newAccount(l.main, "lender", "")
	return l
}

// The most that a meter lends at a time: the admissions of the plan, and the budget for 128 requests.
const (
	mostLentRequests = 512
	mostLent         = 128 * leastAmount * 1.5
)

func (l *lender) check() {
	l.Helper()
	before := figures{}
	for n := range 3 {
		l.use()
		l.kill()
		l.collect()
		if l.postgres != nil { // until then, another replica might still be using the lease
			l.step(expiry)
		}
		l.start()
		l.eventually("everything that was served is booked", func() error {
			if f := l.figures(l.main); l.missing(f) > 0 {
				return fmt.Errorf("%+v, %+v", f, l.account.now())
			}
			return nil
		})
		f := l.figures(l.main)
		l.checkLost(n, lost{f.lost.requests - before.lost.requests, f.lost.cost - before.lost.cost}, l.missing(before))
		before = f
	}
	l.use()
	l.stop()
	l.start()
	f := l.figures(l.main)
	if f.lost != before.lost || f.expired != before.expired || f.settled()-before.settled() != uses {
		l.Errorf("after a shutdown: %+v, before: %+v", f, before)
	}
}

// uses is the number of requests between two ends of the server.
const uses = 100

// use makes the key so busy that its meter lends.
func (l *lender) use() {
	l.Helper()
	const callers = 4
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for n := range uses / callers {
				if got := l.complete(l.account, prompt{text: fmt.Sprint("count to 5, ", c, n, l.account.now().sent), maxTokens: amounts[0]}); got == nil {
					return
				}
			}
		})
	}
	all.Wait()
}

// missing returns the number of requests that callers got and that the usage lacks.
func (l *lender) missing(f figures) int64 {
	return int64(l.account.now().served) - f.settled() - f.expired - f.lost.requests
}

// checkLost checks what a kill has booked. Of the requests that the callers have got since the last kill, unread many
// were not in the usage before.
func (l *lender) checkLost(n int, booked lost, unread int64) {
	l.Helper()
	f := l.figures(l.main)
	served := float64(l.account.now().served) * answerCost
	switch {
	case booked.requests <= 0 || booked.requests > mostLentRequests || booked.cost <= 0 || booked.cost > mostLent:
		l.Errorf("kill %d: %+v was booked for lost leases, of %d requests", n, booked, unread)
	case f.used < served-1e-9 || math.Abs(f.used-f.cost-f.lost.cost) > 1e-9:
		l.Errorf("kill %d: %g is used, and %g was served: %+v", n, f.used, served, f)
	case f.cost > served+mostAmount*float64(f.expired)+1e-9:
		l.Errorf("kill %d: more than was served is settled: %+v", n, f)
	}
}

// stop makes the server shut down, and waits for its end.
func (d *deployment) stop() {
	d.Helper()
	if err := d.process.Process.Signal(syscall.SIGTERM); err != nil {
		d.Fatal(err)
	}
	if err := d.process.Wait(); err != nil {
		d.Fatalf("the server ended with %v", err)
	}
	d.client.CloseIdleConnections()
	d.process = nil
}
