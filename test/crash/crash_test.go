package crash

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

var kills = flag.Int("kills", 8, "number of times that TestKill kills the server")

// expiry is longer than the lifetime of any reservation.
const expiry = 10 * time.Minute

// TestKill repeatedly kills the server under load. After each restart, it checks all acknowledged changes. Before
// every second restart, it moves the clock ten minutes forward. The reservations from before the crash have then
// expired.
func TestKill(t *testing.T) {
	w := newWorld(deploy(t), *kills)
	for n := range *kills {
		stop := make(chan struct{})
		callers := w.load(stop)
		time.Sleep(time.Duration(200+rand.IntN(600)) * time.Millisecond) // a random moment during the load
		w.kill()
		close(stop)
		callers.Wait()
		w.checkIntegrity()
		if n%2 == 1 {
			w.step(expiry)
		}
		w.start()
		w.checkAcknowledged()
		if n%2 == 1 {
			w.checkSettled()
		}
		if t.Failed() {
			t.Fatalf("after kill %d", n+1)
		}
	}
	w.checkEverything()
	w.report()
}

// checkEverything checks the whole log, and the database after a last kill.
func (w *world) checkEverything() {
	w.kill()
	w.step(expiry)
	w.start()
	w.checkSettled()
	for _, o := range w.operators {
		w.checkAudit(o.all)
	}
	w.kill()
	w.step(expiry)
	w.checkDatabase()
}

// report prints the figures. In this directory, `go test` shows them without -v.
func (w *world) report() {
	var all counts
	changes := 0
	for _, p := range w.projects {
		n := p.sums()
		all.sent, all.served, all.refused = all.sent+n.sent, all.served+n.served, all.refused+n.refused
	}
	for _, o := range w.operators {
		changes += len(o.all)
	}
	a, b := w.main.read, w.small.read
	fmt.Fprintf(os.Stdout, "crash tests: %d kills, %d requests sent, %d served, %d refused, %d key changes; %d settled, %d estimated, %d of lost leases\n",
		*kills, all.sent, all.served, all.refused, changes, a.settled()+b.settled(), a.expired+b.expired, a.lost.requests+b.lost.requests)
}
