package conformance

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/test/pgtest"
)

// wire counts the traffic between the store and PostgreSQL, by protocol message:
// postgresql.org/docs/15/protocol-message-formats.html.
type wire struct {
	commits, statements, trips, read, written, bytesOut, bytesIn atomic.Int64
}

// newWire returns a wire to a server and the address to connect to.
func newWire(t *testing.T, to string) (*wire, string) {
	t.Helper()
	w := &wire{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go pass(server, client, true, w.sent)
			go pass(client, server, false, w.received)
		}
	}()
	return w, listener.Addr().String()
}

// pass copies messages in one direction. A client's first message has no type.
func pass(to, from net.Conn, startup bool, count func(kind byte, body []byte)) {
	defer func() { _, _ = to.Close(), from.Close() }()
	in := bufio.NewReader(from)
	for {
		head := make([]byte, 5)
		start := 0
		if startup {
			start = 1
		}
		if _, err := io.ReadFull(in, head[start:]); err != nil {
			return
		}
		body := make([]byte, max(4, binary.BigEndian.Uint32(head[1:]))-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		count(head[0], body)
		if _, err := to.Write(append(head[start:], body...)); err != nil {
			return
		}
		startup = false
	}
}

func (w *wire) sent(kind byte, body []byte) {
	w.bytesOut.Add(int64(5 + len(body)))
	switch kind {
	case 'E', 'Q': // Execute, Query
		w.statements.Add(1)
	}
	if kind == 'S' || kind == 'Q' { // Sync
		w.trips.Add(1)
	}
}

func (w *wire) received(kind byte, body []byte) {
	w.bytesIn.Add(int64(5 + len(body)))
	switch kind {
	case 'D': // DataRow
		w.read.Add(1)
	case 'C': // CommandComplete
		words := strings.Fields(strings.TrimRight(string(body), "\x00"))
		n, err := strconv.Atoi(words[len(words)-1])
		if words[0] == "COMMIT" {
			w.commits.Add(1)
		}
		if err == nil && words[0] != "SELECT" {
			w.written.Add(int64(n))
		}
	}
}

// figures returns the counters divided by n, and resets them.
func (w *wire) figures(n int) (f [7]float64) {
	for i, c := range []*atomic.Int64{&w.commits, &w.statements, &w.trips, &w.read, &w.written, &w.bytesOut, &w.bytesIn} {
		f[i] = float64(c.Swap(0)) / float64(n)
	}
	return f
}

// newPostgresFixture is like newFixture, but on a PostgreSQL server. url returns the URL of a database.
func newPostgresFixture(t *testing.T, upstream *Upstream, server *pgtest.Server, url func(database string) string) *fixture {
	t.Helper()
	return newFixtureOn(t, upstream, func(clock store.Clock) (store.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: url(server.Database(t)), Clock: clock})
	})
}

// newFixtureOn is like newFixture, but with the stores that open returns. Each call to open returns an empty store.
func newFixtureOn(t *testing.T, upstream *Upstream, open func(store.Clock) (store.Store, error)) *fixture {
	t.Helper()
	local, err := NewLocalOn(deployment(upstream), host.NewNative, open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	c := fixtureAt(t, &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: newClient(), Upstream: upstream, Native: true})
	c.local = local
	return c
}

func fixtureAt(t *testing.T, r *Runner) *fixture {
	t.Helper()
	x := &run{Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: Start, flights: map[string]startedRequest{}}
	c := &fixture{run: x, T: t}
	c.must(x.reset())
	return c
}

// measuredKind is a kind of request whose cost is measured.
type measuredKind struct {
	name string
	step func(i int) string // a scenario
	// flood returns a scenario with n simultaneous requests. One of them, the keeper, reports the counts of all of
	// them. If flood is nil, requests are sent one after another.
	flood func(n int) string
}

func completion(key string, n, status int) string {
	return fmt.Sprintf("== one\nsend POST /v1/chat/completions key=%s\n  {\"model\":\"only\",\"messages\":[{\"role\":\"user\",\"content\":\"n%d\"}],\"max_tokens\":50}\nexpect %d", key, n, status)
}

var measuredKinds = []measuredKind{
	{"answer of a provider", func(i int) string { return completion("live", i, 200) }, nil},
	{"cache hit from memory", func(int) string { return completion("live", 0, 200) }, nil},
	{"GET /api/health", func(int) string { return "== one\nsend GET /api/health key=live\nexpect 200" }, nil},
	{"429 of a used-up key", func(i int) string { return completion("limited", i, 429) }, func(n int) string {
		return fmt.Sprintf("== one\nburst %d POST /v1/chat/completions key=limited\n  {\"model\":\"only\",\"messages\":[{\"role\":\"user\",\"content\":\"flood\"}]}\nstatuses 429=%d", n, n)
	}},
}

// measure sends n requests of each kind. It calls start before the requests of a kind, and calls report once their
// usage has been reported.
func (c *fixture) measure(n int, start func(), report func(kind string)) {
	c.do("project main plan=unlimited budget=1000", "key live main", "key limited main requestsPerDay=1")
	c.script("first", completion("limited", 0, 200))
	for _, kind := range measuredKinds {
		c.script("warm", kind.step(0))
		c.do("advance 60s") // so that the summary of the previous kind is not measured
		start()
		if kind.flood != nil {
			c.local.naps.Store(true) // with shortened naps, the counts would be reported more often than every five seconds
			c.script(kind.name, kind.flood(n))
			c.local.naps.Store(false)
		}
		for i := range n {
			if kind.flood == nil {
				c.script(kind.name, kind.step(i+1))
			}
		}
		c.do("advance 10s")
		report(kind.name)
	}
}

// TestPostgresPerRequest counts what PostgreSQL sees per request. docs/operate/scaling.md has the table, and -v
// prints it.
func TestPostgresPerRequest(t *testing.T) {
	t.Parallel()
	const n = 40
	upstream := NewUpstream()
	defer upstream.Close()
	server := pgtest.Shared(t)
	w, address := newWire(t, server.Address())
	c := newPostgresFixture(t, upstream, server, func(database string) string { return pgtest.URLAt(address, database) })
	most := map[string]float64{"answer of a provider": 15, "cache hit from memory": 10, "GET /api/health": 5, "429 of a used-up key": 2}
	c.measure(n, func() { w.figures(1) }, func(kind string) {
		f := w.figures(n)
		t.Logf("%-22s %4.1f commits %4.1f statements %4.1f round trips %4.1f rows read %4.1f rows written %5.0f bytes to and %5.0f from PostgreSQL",
			kind, f[0], f[1], f[2], f[3], f[4], f[5], f[6])
		if f[1] > most[kind] || f[1] <= 0 {
			t.Errorf("%s: %.1f statements, want at most %.0f", kind, f[1], most[kind])
		}
	})
}

// TestSQLitePerRequest counts rows and the bytes of the write-ahead log per request. docs/operate/scaling.md has the
// table, and -v prints it.
func TestSQLitePerRequest(t *testing.T) {
	t.Parallel()
	const n = 40
	upstream := NewUpstream()
	defer upstream.Close()
	var folder string
	c := newFixtureOn(t, upstream, func(clock store.Clock) (store.Store, error) {
		folder = t.TempDir()
		return sqlite.Open(t.Context(), sqlite.Config{Dir: folder, Clock: clock})
	})
	figures := func() (f [3]float64) {
		log, err := os.Stat(filepath.Join(folder, "postern.db-wal"))
		c.must(err)
		return [3]float64{float64(c.stat("rowsRead")), float64(c.stat("rowsWritten")), float64(log.Size())}
	}
	var before [3]float64
	most := map[string]float64{"answer of a provider": 60_000, "cache hit from memory": 25_000, "429 of a used-up key": 12_000}
	c.measure(n, func() { before = figures() }, func(kind string) {
		f := figures()
		bytes := (f[2] - before[2]) / n
		t.Logf("%-22s %4.1f rows read %4.1f rows written %6.0f bytes of the log", kind, (f[0]-before[0])/n, (f[1]-before[1])/n, bytes)
		if bytes > most[kind] || most[kind] > 0 && bytes == 0 {
			t.Errorf("%s: %.0f bytes, want at most %.0f", kind, bytes, most[kind])
		}
	})
}
