package replicas

import (
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/pgtest"
)

var rounds = flag.Int("rounds", 5, "number of rounds of TestExactLimit")

const (
	perSecond = 10
	atOnce    = 200
)

// limited deploys three replicas whose clocks differ by up to half a second, and returns a key that may send 10
// requests per second.
func limited(t *testing.T) (d *deployment, project, key string) {
	t.Helper()
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	d = deploy(t, s, database, s.Address(), longTimeout)
	d.serve(pgtest.URLAt(s.Address(), database)+"&search_path=test,pg_catalog,public", 0, longTimeout)
	project = d.newProject("main")
	key = d.mustAdmin("POST", "projects/"+project+"/keys",
		`{"name":"limited","limits":{"requestsPerSecond":10,"requestsPerDay":null,"tokensPerMinute":null}}`).get("value").Str
	return d, project, key
}

// TestExactLimit sends 200 requests at once to three replicas. The database's clock moves only when the test moves
// it. In every round, exactly 10 requests are admitted at first. A millisecond before a second has passed, no more
// are admitted. After the second, exactly 10 are.
func TestExactLimit(t *testing.T) {
	d, _, key := limited(t)
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

// tick is how far slowSQL moves the database's clock with each reading.
const tick = 8 * time.Millisecond

// slowSQL makes every reading of the database's clock later than the one before. It is as if each decision took that
// long.
const slowSQL = `CREATE SEQUENCE test.readings;
	CREATE TABLE test.began AS SELECT pg_catalog.clock_timestamp() AS at;
	CREATE OR REPLACE FUNCTION test.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		'SELECT at + nextval(''test.readings'') * interval ''8 milliseconds'' FROM test.began'`

// readings is the maximum number of clock readings between two decisions. Settlements and other work of three
// replicas also read the clock.
const readings = 75

// TestLimitWhileDecisionsTakeLong sends 200 requests to three replicas, three at a time, because decisions of one replica
// may share a transaction. They need more than a second in all, so the window of one second slides in the meantime. No window contains more than 10 decisions
// that admit a request. While requests are waiting, the next 10 are admitted as soon as there is room.
func TestLimitWhileDecisionsTakeLong(t *testing.T) {
	d, project, key := limited(t)
	d.sql(slowSQL)
	admitted := d.requests(key, atOnce, 3)
	var at []int64 // times of decisions that admitted a request, in milliseconds
	for _, request := range d.mustAdmin("GET", "projects/"+project+"/requests?outcome=served&limit=100", "").get("requests").Array() {
		when, err := time.Parse(time.RFC3339, request.Get("time").Str)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, when.UnixMilli())
	}
	slices.Sort(at)
	if seen := len(d.upstream.Seen()); len(at) != admitted || seen != admitted {
		t.Fatalf("%d admitted, %d listed, %d reached the provider", admitted, len(at), seen)
	}
	if least := int(atOnce*tick/time.Second)*perSecond + 1; admitted < least {
		t.Errorf("%d admitted of %d decisions that took %v each, want at least %d", admitted, atOnce, tick, least)
	}
	for i := range at[:len(at)-perSecond] {
		if gap := at[i+perSecond] - at[i]; gap < 1000 || gap > 1000+readings*tick.Milliseconds() {
			t.Errorf("admission %d came %d ms after the tenth before it", i+perSecond, gap)
		}
	}
	t.Logf("%d admitted within %d ms", admitted, at[len(at)-1]-at[0])
}

// burst sends requests at once and returns how many were admitted.
func (d *deployment) burst(key string, n int) (admitted int) {
	d.Helper()
	return d.requests(key, n, n)
}

// requests sends requests, a number of them at a time, and returns how many were admitted.
func (d *deployment) requests(key string, n, together int) (admitted int) {
	d.Helper()
	var all sync.WaitGroup
	got := make([]*response, n)
	turns := make(chan bool, together)
	for i := range n {
		all.Go(func() {
			turns <- true
			got[i] = d.complete(key, false)
			<-turns
		})
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
