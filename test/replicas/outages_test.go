package replicas

import (
	"flag"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/pgtest"
)

var (
	outage  = flag.Duration("outage", 4*time.Second, "time for which the database is cut off")
	outages = flag.Int("outages", 1, "number of outages per test")
)

// expiry is longer than the lifetime of any reservation.
const expiry = 10 * time.Minute

// calm is the time under load before and after an outage.
const calm = time.Second

// underLoad runs an outage under load. The load ends after the servers have recovered. During the outage, callers may
// get no failure other than 503 with Retry-After.
func (l *load) underLoad(outage func()) {
	l.Helper()
	l.start()
	time.Sleep(calm)
	refused := l.refused.Load()
	outage()
	l.recovered()
	time.Sleep(calm)
	l.end()
	if l.refused.Load() == refused {
		l.Error("no caller noticed the outage")
	}
}

// recovered waits until each server serves ten requests in a row.
func (l *load) recovered() {
	l.Helper()
	served := 0
	l.eventually("the servers have recovered", func() error {
		for served < 10*len(l.urls) {
			l.sent.Add(1)
			got := l.complete(l.keys[0], false)
			if got.status != 200 {
				served = 0
				l.refused.Add(1)
				return unexpected{got}
			}
			served++
			l.served.Add(1)
		}
		return nil
	})
}

type unexpected struct{ *response }

func (e unexpected) Error() string { return e.String() }

func (l *load) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// TestRestart restarts the database under load, first after a clean stop and then after a kill.
func TestRestart(t *testing.T) {
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	l := newLoad(deploy(t, s, database, s.Address(), shortTimeout))
	for range *outages {
		l.underLoad(func() { l.must(s.Restart()) })
		l.underLoad(func() {
			l.must(s.Kill())
			l.must(s.Start())
		})
	}
	l.check()
}

// TestCutOff cuts the replicas off from the database under load. First, every packet is lost. Then connections are
// refused.
func TestCutOff(t *testing.T) {
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	p := newProxy(t, s.Address())
	l := newLoad(deploy(t, s, database, p.Addr().String(), shortTimeout))
	for range *outages {
		for _, how := range []mode{stalls, refuses} {
			l.underLoad(func() {
				p.set(how)
				time.Sleep(*outage)
				p.set(passes)
			})
		}
	}
	l.check()
}

// TestFailover kills the primary under load and makes its synchronous standby the new primary. The servers know the
// addresses of both.
func TestFailover(t *testing.T) {
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	standby := s.Standby(t)
	l := newLoad(deploy(t, s, database, s.Address()+","+standby.Address(), shortTimeout))
	l.underLoad(func() {
		l.must(s.Kill())
		time.Sleep(calm)
		l.must(standby.Promote(t.Context()))
		l.postgres = standby
	})
	l.check()
}
