package postgres_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/pgtest"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

func exec(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

const (
	lockSQL    = "SELECT FROM postern_objects WHERE class = $1 AND name = $2 FOR UPDATE"
	waitingSQL = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	timeSQL    = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
)

func number(t *testing.T, c *pgx.Conn, sql string) (n int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func until(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited too long")
		}
	}
}

// TestTimeIsReadAfterLock: if a command has waited for its object, it gets the time at which it locked the object,
// even if the other transaction has changed nothing.
func TestTimeIsReadAfterLock(t *testing.T) {
	url := database(t)
	s := open(t, postgres.Config{URL: url})
	run(t, s, object, put("a", "1"))
	holder, watcher := connect(t, url), connect(t, url)
	exec(t, holder, "BEGIN")
	exec(t, holder, lockSQL, object.Class, object.Name)
	got := make(chan uint64, 1)
	go func() {
		var at uint64
		if err := s.Run(t.Context(), object, func(_ store.Rows, now uint64) error { at = now; return nil }); err != nil {
			t.Error(err)
		}
		got <- at
	}()
	until(t, func() bool { return number(t, watcher, waitingSQL) == 1 })
	time.Sleep(20 * time.Millisecond) // if a time is from before the wait, it is now visibly earlier
	released := number(t, watcher, timeSQL)
	exec(t, holder, "ROLLBACK")
	if at := <-got; at < uint64(released) {
		t.Errorf("the command's time is %d ms before the object was free", uint64(released)-at)
	}
}

// TestUnknownKeysLeaveNothing: commands that write nothing do not leave an object behind.
func TestUnknownKeysLeaveNothing(t *testing.T) {
	url := database(t)
	s := open(t, postgres.Config{URL: url})
	for i := range 20 {
		o := store.Object{Class: abi.ClassKeyMeter, Name: strconv.Itoa(i)}
		run(t, s, o, func(rows store.Rows, _ uint64) error {
			if value := read(rows, "h"); value != "" {
				t.Errorf("a row contains %q", value)
			}
			return rows.Commit(nil, []string{"h"}, 0)
		})
	}
	if n := number(t, connect(t, url), "SELECT count(*) FROM postern_objects"); n != 0 {
		t.Errorf("%d objects", n)
	}
}

// TestObjectBusyElsewhere: a command that does not get its object in time fails, but commands on other objects
// succeed.
func TestObjectBusyElsewhere(t *testing.T) {
	url := database(t)
	s := open(t, postgres.Config{URL: url, Timeout: 500 * time.Millisecond})
	run(t, s, object, put("a", "1"))
	holder := connect(t, url)
	exec(t, holder, "BEGIN")
	exec(t, holder, lockSQL, object.Class, object.Name)
	called := false
	err := s.Run(t.Context(), object, func(store.Rows, uint64) error { called = true; return nil })
	if !errors.Is(err, store.ErrOverloaded) || called {
		t.Errorf("got %v, called %v", err, called)
	}
	run(t, s, store.Object{Class: abi.ClassLedger, Name: "other"}, put("a", "1"))
	exec(t, holder, "ROLLBACK")
	run(t, s, object, put("a", "2"))
}

// TestLostReplicaFreesObject: a transaction of a silent client does not keep its object locked.
func TestLostReplicaFreesObject(t *testing.T) {
	url := database(t)
	lost := open(t, postgres.Config{URL: url, Timeout: 300 * time.Millisecond})
	other := open(t, postgres.Config{URL: url, Timeout: 30 * time.Second})
	run(t, other, object, put("a", "1"))
	holding, silent := make(chan bool), make(chan bool)
	ended := make(chan error, 1)
	go func() {
		ended <- lost.Run(t.Context(), object, func(rows store.Rows, now uint64) error {
			close(holding)
			<-silent
			return put("a", "from the lost")(rows, now)
		})
	}()
	<-holding
	run(t, other, object, put("a", "2"))
	close(silent)
	if err := <-ended; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if value := look(t, other, object, "a"); value != "2" {
		t.Errorf("the row contains %q", value)
	}
}

// TestOverload: calls above the limit fail at once, and a hot object does not use up the connections.
func TestOverload(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t), MaxConns: 2, MaxWaiting: 10})
	inside, leave := make(chan bool), make(chan bool)
	entered := sync.OnceFunc(func() { close(inside) }) // the server ends a transaction that waits for long, and it is repeated
	ended := make(chan error, 20)
	go func() {
		ended <- s.Run(t.Context(), object, func(store.Rows, uint64) error { entered(); <-leave; return nil })
	}()
	<-inside
	for range 8 {
		go func() { ended <- s.Run(t.Context(), object, increment("n")) }()
	}
	until(t, func() bool { return s.Measure(t.Context()).Waiting == 9 })
	run(t, s, store.Object{Class: abi.ClassLedger, Name: "other"}, put("a", "1"))
	go func() { ended <- s.Run(t.Context(), object, increment("n")) }()
	until(t, func() bool { return s.Measure(t.Context()).Waiting == 10 })
	if err := s.Run(t.Context(), object, increment("n")); !errors.Is(err, store.ErrOverloaded) {
		t.Errorf("got %v", err)
	}
	if _, _, err := s.Read(t.Context(), "k"); !errors.Is(err, store.ErrOverloaded) {
		t.Errorf("got %v", err)
	}
	close(leave)
	for range 10 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := look(t, s, object, "n"); n != "9" {
		t.Errorf("%s increments", n)
	}
}

// TestPoolInUse: if a call gets no connection in time, its error says so.
func TestPoolInUse(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t), MaxConns: 1, Timeout: 300 * time.Millisecond})
	err := s.Run(t.Context(), object, func(store.Rows, uint64) error {
		return s.Run(t.Context(), store.Object{Class: abi.ClassLedger, Name: "other"}, put("a", "1"))
	})
	if !errors.Is(err, store.ErrOverloaded) {
		t.Errorf("got %v", err)
	}
}

// TestRestartIsNotNoticed: the server restarts while connections are idle. The next commands use these connections
// and succeed.
func TestRestartIsNotNoticed(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, postgres.Config{URL: server.URL(server.Database(t)), MaxConns: 8})
	var inside atomic.Int64
	ended := make(chan error, 8)
	for i := range cap(ended) { // opens all connections
		go func() {
			ended <- s.Run(t.Context(), store.Object{Class: abi.ClassLedger, Name: strconv.Itoa(i)}, func(rows store.Rows, now uint64) error {
				inside.Add(1)
				until(t, func() bool { return inside.Load() >= 8 })
				return put("a", "1")(rows, now)
			})
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		run(t, s, store.Object{Class: abi.ClassLedger, Name: strconv.Itoa(i)}, increment("n"))
	}
	if n := s.Stats().UnknownCommits; n != 0 {
		t.Errorf("%d unknown commits", n)
	}
}

// TestCommitsAreSynchronous: commands wait for the disk even if the database's default says otherwise. Cached
// responses do not wait.
func TestCommitsAreSynchronous(t *testing.T) {
	server := pgtest.Shared(t)
	name := server.Database(t)
	if err := server.Exec(t.Context(), "postgres", "ALTER DATABASE "+name+" SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	url := server.URL(name)
	s := open(t, postgres.Config{URL: url})
	// A trigger records the setting with which a table is written.
	exec(t, connect(t, url), `CREATE TABLE seen (what text);
		CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN INSERT INTO seen VALUES (TG_TABLE_NAME || '' '' || current_setting(''synchronous_commit'')); RETURN NULL; END';
		CREATE TRIGGER note AFTER INSERT ON postern_rows EXECUTE FUNCTION note();
		CREATE TRIGGER note AFTER INSERT ON postern_kv EXECUTE FUNCTION note()`)
	run(t, s, object, put("a", "1"))
	for _, ttl := range []uint64{60, 0} {
		if err := s.Write(t.Context(), "k", []byte("v"), ttl); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	rows, err := connect(t, url).Query(t.Context(), "SELECT what FROM seen")
	if err == nil {
		seen, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if got := strings.Join(seen, ", "); err != nil || got != "postern_rows on, postern_kv off, postern_kv on" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := postgres.Open(t.Context(), postgres.Config{URL: url + "&synchronous_commit=off"}); err == nil {
		t.Error("synchronous_commit=off in the URL is accepted")
	}
}
