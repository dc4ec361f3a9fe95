package replicas

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/fakeprovider"
	"github.com/postern-ai/postern/test/freeport"
	"github.com/postern-ai/postern/test/pgtest"
)

const (
	adminToken = "replicas-tests-admin-token"
	// skew is the difference between the clocks of the first two replicas.
	skew = 500 * time.Millisecond
	// patience limits the wait for a condition. It is long because the machine may be busy.
	patience = 2 * time.Minute
	// callLimit limits a request during an outage. A request makes several calls to objects. Each call may be tried
	// twice, and each try may take the time of a commit, too.
	callLimit = 5 * time.Minute
	// With shortTimeout, a store often gives up. With longTimeout, it never does.
	shortTimeout = 2 * time.Second
	longTimeout  = time.Minute
)

// deployment is at least two servers on one database. Requests are sent to them in turn.
type deployment struct {
	*testing.T
	upstream *fakeprovider.Server
	postgres *pgtest.Server // the server that has the clock
	database string
	urls     []string // of the servers
	stores   []*postgres.Store
	next     atomic.Int64
	serial   atomic.Int64
	client   *http.Client
	moved    atomic.Int64 // nanoseconds by which the test has moved all clocks
}

// newDatabase creates a database with an adjustable clock.
func newDatabase(t *testing.T, s *pgtest.Server) string {
	t.Helper()
	return s.ClockDatabase(t)
}

// deploy starts two servers on a database. The database is at one address, which may be a proxy's, or at several
// addresses.
func deploy(t *testing.T, s *pgtest.Server, database, addresses string, timeout time.Duration) *deployment {
	t.Helper()
	d := &deployment{
		T: t, upstream: fakeprovider.New(), postgres: s, database: database,
		client: &http.Client{Timeout: callLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 300}},
	}
	t.Cleanup(d.upstream.Close)
	for _, by := range []time.Duration{-skew / 2, skew / 2} {
		d.serve(pgtest.URLAt(addresses, database)+pgtest.WithClock, by, timeout)
	}
	return d
}

type clock struct {
	d  *deployment
	by time.Duration
}

func (c clock) Now() uint64 {
	return uint64(time.Now().Add(c.by + time.Duration(c.d.moved.Load())).UnixMilli())
}

func (d *deployment) serve(url string, by, timeout time.Duration) {
	d.Helper()
	catalog, err := os.ReadFile("../../testdata/conformance/overlay.json")
	if err != nil {
		d.Fatal(err)
	}
	if timeout == longTimeout { // the other limits are already short
		url += "&lock_timeout=60000&idle_in_transaction_session_timeout=60000"
	}
	opened, err := postgres.Open(d.Context(), postgres.Config{URL: url, Timeout: timeout})
	if err != nil {
		d.Fatal(err)
	}
	d.stores = append(d.stores, opened)
	address := freeAddress(d.T)
	s, err := server.New(d.Context(), server.Config{
		Listen: address, OpsListen: "off", Log: slog.New(slog.DiscardHandler), Drain: time.Second,
		Env: map[string]string{
			"POSTERN_ADMIN_TOKEN": adminToken, "POSTERN_CATALOG": string(catalog),
			"OPENAI_BASE_URL": d.upstream.URL + "/v1", "OPENAI_API_KEY": "sk-upstream",
		},
		Test: server.Test{Store: opened, Clock: clock{d, by}, Persistence: patience},
	})
	if err != nil {
		d.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	d.Cleanup(func() {
		stop()
		select {
		case <-ended:
		case <-time.After(patience):
			d.Error("a server did not end")
		}
	})
	d.urls = append(d.urls, "http://"+address)
	d.eventually("the server listens", func() error {
		got, err := d.client.Get("http://" + address + "/")
		if err == nil {
			_ = got.Body.Close()
		}
		return err
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func (d *deployment) eventually(what string, f func() error) {
	d.Helper()
	end := time.Now().Add(patience)
	for err := f(); err != nil; err = f() {
		if time.Now().After(end) {
			d.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// freeze stops the database's clock.
func (d *deployment) freeze() {
	d.Helper()
	d.sql("UPDATE test.clock SET frozen = pg_catalog.clock_timestamp()")
}

func (d *deployment) move(by time.Duration) {
	d.Helper()
	d.moved.Add(int64(by))
	if err := d.postgres.MoveClock(d.Context(), d.database, by); err != nil {
		d.Fatal(err)
	}
}

func (d *deployment) sql(statements ...string) {
	d.Helper()
	if err := d.postgres.Exec(d.Context(), d.database, statements...); err != nil {
		d.Fatal(err)
	}
}

// response is a complete response.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (r *response) String() string { return fmt.Sprintf("%d %.500s", r.status, r.body) }

func (r *response) get(path string) gjson.Result { return gjson.GetBytes(r.body, path) }

// send sends a request to the next server. Servers are always up, so the test fails if there is no complete response.
func (d *deployment) send(method, path, header, value, body string) *response {
	return d.sendTo(d.urls[d.next.Add(1)%int64(len(d.urls))], method, path, header, value, body)
}

func (d *deployment) sendTo(url, method, path, header, value, body string) *response {
	request, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set(header, value)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	got, err := d.client.Do(request)
	if err != nil {
		d.Errorf("%s %s: %v", method, path, err)
		return &response{}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		d.Errorf("%s %s: %v", method, path, err)
	}
	return &response{got.StatusCode, got.Header, text}
}

func (d *deployment) admin(method, path, body string) *response {
	return d.send(method, "/api/admin/"+path, "Authorization", "Bearer "+adminToken, body)
}

func (d *deployment) mustAdmin(method, path, body string) *response {
	d.Helper()
	got := d.admin(method, path, body)
	if got.status >= 300 || got.status == 0 {
		d.Fatalf("%s %s: %s", method, path, got)
	}
	return got
}

func (d *deployment) newProject(name string) string {
	d.Helper()
	return d.mustAdmin("POST", "projects", fmt.Sprintf(`{"name":%q,"plan":"unlimited"}`, name)).get("id").Str
}

// complete sends a completion request with a unique prompt.
func (d *deployment) complete(key string, stream bool) *response {
	body := fmt.Sprintf(`{"quality":"cheap","maxTokens":200,"stream":%t,"messages":[{"role":"user","content":"count to 20, request %d"}]}`,
		stream, d.serial.Add(1))
	return d.send("POST", "/api/ai/chat", "X-Api-Key", key, body)
}
