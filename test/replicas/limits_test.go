package replicas

import (
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/internal/pgtest"
)

var rounds = flag.Int("rounds", 5, "number of rounds of TestExactLimit")

const (
	perSecond = 10
	atOnce    = 200
)

// TestExactLimit sends 200 requests at once to two replicas with a key that may send 10 a second. The replicas' clocks differ
// by half a second, and the database's moves only by command: in every round exactly 10 are admitted, none a millisecond
// before the window has passed, and exactly 10 after it.
func TestExactLimit(t *testing.T) {
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	d := deploy(t, s, database, s.Address(), longTimeout)
	project := d.newProject("main")
	key := d.mustAdmin("POST", "projects/"+project+"/keys",
		`{"name":"limited","limits":{"requestsPerSecond":10,"requestsPerDay":null,"tokensPerMinute":null}}`).get("value").Str
	d.freeze()
	for round := range *rounds {
		if n := d.burst(key, atOnce); n != perSecond {
			t.Fatalf("round %d: %d of %d requests at once were admitted, want %d", round, n, atOnce, perSecond)
		}
		d.move(time.Second - time.Millisecond)
		if n := d.burst(key, perSecond); n != 0 {
			t.Fatalf("round %d: %d admitted a millisecond before the window has passed", round, n)
		}
		d.move(time.Millisecond)
	}
	if n := len(d.upstream.Seen()); n != *rounds*perSecond {
		t.Errorf("the provider got %d requests, want %d", n, *rounds*perSecond)
	}
}

// burst sends requests at once and returns how many were admitted.
func (d *deployment) burst(key string, n int) (admitted int) {
	d.Helper()
	var all sync.WaitGroup
	got := make([]*response, n)
	for i := range n {
		all.Go(func() { got[i] = d.complete(key, false) })
	}
	all.Wait()
	for _, one := range got {
		switch {
		case one.status == 200:
			admitted++
		case one.status != 429 || one.header.Get("Retry-After") == "":
			d.Fatalf("got %s %v", one, one.header)
		}
	}
	return admitted
}
