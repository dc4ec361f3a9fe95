package postgres_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/postgres"
	"github.com/postern-ai/postern/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func database(t *testing.T) string {
	t.Helper()
	server := pgtest.Shared(t)
	return server.URL(server.Database(t))
}

func open(t *testing.T, c postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var object = store.Object{Class: abi.ClassLedger, Name: "prj_1"}

func run(t *testing.T, s store.Store, o store.Object, command store.Command) {
	t.Helper()
	if err := s.Run(t.Context(), o, command); err != nil {
		t.Fatal(err)
	}
}

// read returns a row's value, or "" if there is none.
func read(rows store.Rows, key string) string {
	found, err := rows.Read(abi.Range{Start: key})
	if err != nil || len(found) == 0 {
		return ""
	}
	return string(found[0].Value)
}

// look returns a row's value. It uses a separate command.
func look(t *testing.T, s store.Store, o store.Object, key string) (value string) {
	t.Helper()
	run(t, s, o, func(rows store.Rows, _ uint64) error {
		value = read(rows, key)
		return nil
	})
	return value
}

func put(pairs ...string) store.Command {
	return func(rows store.Rows, _ uint64) error {
		var puts []abi.Row
		for i := 0; i < len(pairs); i += 2 {
			puts = append(puts, abi.Row{Key: pairs[i], Value: []byte(pairs[i+1])})
		}
		return rows.Commit(puts, nil, 0)
	}
}

func increment(key string) store.Command {
	return func(rows store.Rows, _ uint64) error {
		n, _ := strconv.Atoi(read(rows, key))
		return rows.Commit([]abi.Row{{Key: key, Value: []byte(strconv.Itoa(n + 1))}}, nil, 0)
	}
}

// TestReplicasCount: several replicas increment the same rows at the same time. The objects did not exist before. No
// increment is lost.
func TestReplicasCount(t *testing.T) {
	url := database(t)
	const replicas, workers, each = 3, 8, 25
	var done sync.WaitGroup
	for range replicas {
		s := open(t, postgres.Config{URL: url, MaxConns: 4})
		for worker := range workers {
			done.Go(func() {
				o := store.Object{Class: abi.ClassKeyMeter, Name: strconv.Itoa(worker % 2)}
				for range each {
					if err := s.Run(context.Background(), o, increment("n")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	done.Wait()
	s := open(t, postgres.Config{URL: url})
	for _, name := range []string{"0", "1"} {
		if n := look(t, s, store.Object{Class: abi.ClassKeyMeter, Name: name}, "n"); n != strconv.Itoa(replicas*workers*each/2) {
			t.Errorf("object %s: %s increments", name, n)
		}
	}
}

// TestPasswordIsSecret: errors never contain the URL's password, in whatever form the URL contains it.
func TestPasswordIsSecret(t *testing.T) {
	for _, url := range []string{
		"postgres://u:s3cr3t%2F%25with%40signs@127.0.0.1:1/db", "postgres://u:s3cr3t/%with@signs@127.0.0.1:1/db",
		"postgres://u@127.0.0.1:1/db?password=s3cr3t%2F%25with%40signs", "postgres://u:s3cr3t@127.0.0.1:port/db",
		"postgres://u:s3cr3t%2F%25with%40signs@127.0.0.1:1/db?sslmode=bad", "mysql://u:s3cr3t@h/db", "s3cr3t",
		"postgres://u:s3cr3t%2F%25with%40signs@127.0.0.1:1/db?pool_max_conns=many", "postgres://u:s3cr3t%2@h/db",
		"postgres://u:1/s3cr3t%25with@127.0.0.1:1/db", "postgres://u:1?s3cr3t@127.0.0.1:1/db", "postgres://u:1#s3cr3t@127.0.0.1/db",
		"host=h password=s3cr3t",
	} {
		_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err == nil {
			t.Fatalf("%s: no error", url)
		}
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	server := pgtest.Shared(t)
	url := strings.Replace(server.URL("postgres"), pgtest.Password, "wr0ng", 1)
	_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err == nil || strings.Contains(err.Error(), "wr0ng") || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("got %v", err)
	}
}

// TestCommandError: a failed command changes nothing, and its error is returned unchanged.
func TestCommandError(t *testing.T) {
	s := open(t, postgres.Config{URL: database(t)})
	own := errors.New("own")
	err := s.Run(t.Context(), object, func(rows store.Rows, now uint64) error {
		_ = put("a", "1")(rows, now)
		return own
	})
	if err != own {
		t.Errorf("got %v", err)
	}
	if value := look(t, s, object, "a"); value != "" {
		t.Errorf("the row contains %q", value)
	}
}
