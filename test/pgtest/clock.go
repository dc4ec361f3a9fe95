package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// clockSQL replaces the function that returns the database's time with one whose time a test can move.
const clockSQL = `CREATE SCHEMA test;
	CREATE TABLE test.clock (frozen timestamptz, moved interval NOT NULL);
	INSERT INTO test.clock VALUES (NULL, '0');
	CREATE FUNCTION test.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		'SELECT coalesce(frozen, pg_catalog.clock_timestamp()) + moved FROM test.clock'`

// WithClock is added to the URL of a database with an adjustable clock.
const WithClock = "&search_path=test,pg_catalog,public"

// ClockDatabase creates a database with an adjustable clock, in addition to what Database does.
func (s *Server) ClockDatabase(t testing.TB) string {
	t.Helper()
	name := s.Database(t)
	if err := s.Exec(context.Background(), name, clockSQL); err != nil {
		t.Fatal(err)
	}
	return name
}

// MoveClock moves the clock of a ClockDatabase.
func (s *Server) MoveClock(ctx context.Context, database string, by time.Duration) error {
	return s.Exec(ctx, database, fmt.Sprintf("UPDATE test.clock SET moved = moved + interval '%d milliseconds'", by.Milliseconds()))
}
