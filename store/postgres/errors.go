package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/postern-ai/postern/store"
)

// errUnknown means that the connection broke after COMMIT was sent. It is unknown whether the changes are durable.
var errUnknown = errors.New("the outcome of the commit is unknown")

// errAppeared means that another replica created the object while the command ran.
var errAppeared = errors.New("the object was created at the same time")

// errOvertaken means that the server responded to COMMIT with a rollback.
var errOvertaken = errors.New("the server rolled the transaction back")

// errPanic is the error of commands that shared a transaction with one that panicked.
var errPanic error = uncommitted{errors.New("another command of the transaction panicked")}

// uncommitted is the error of a transaction that has certainly not committed.
type uncommitted struct{ error }

func (u uncommitted) Unwrap() error { return u.error }

// commandError is the error of a command itself, which Run returns unchanged.
type commandError struct{ error }

// After these errors, a transaction may succeed if it is repeated. After the first three codes, it is repeated on the
// same connection, and after the others on a new one. The codes are from
// https://www.postgresql.org/docs/15/errcodes-appendix.html.
var (
	conflicts = []string{"40001", "40P01", lockNotAvailable} // serialization_failure, deadlock_detected

	// In order: read_only_sql_transaction (the server has become a standby), admin_shutdown, crash_shutdown,
	// idle_session_timeout, idle_in_transaction_session_timeout, and invalid_sql_statement_name and
	// feature_not_supported (a prepared statement is lost or outdated).
	reconnects = []string{"25006", "57P01", "57P02", "57P05", idleTooLong, "26000", "0A000"}
)

const (
	lockNotAvailable = "55P03" // after lock_timeout
	idleTooLong      = "25P03" // after idle_in_transaction_session_timeout
)

// errBusy means that another replica has held the object for lockTimeout.
var errBusy = fmt.Errorf("%w: another replica holds the object", store.ErrOverloaded)

// serverError returns the server's error, or nil if the connection failed instead.
func serverError(err error) *pgconn.PgError {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server
	}
	return nil
}

// alive reports whether the connection still works after an error. It works if the server responded, unless the
// response says that the server is shutting down.
func alive(err error) bool {
	server := serverError(err)
	return server != nil && server.SeverityUnlocalized == "ERROR" && !slices.Contains(reconnects, server.Code)
}

// repeatable reports whether a transaction has certainly not committed and may succeed if it is repeated.
func repeatable(err error) bool {
	var u uncommitted
	if !errors.As(err, &u) {
		return false
	}
	server := serverError(err)
	switch {
	case errors.Is(err, errAppeared):
		return true
	case server == nil: // the connection
		return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
	}
	return slices.Contains(conflicts, server.Code) || slices.Contains(reconnects, server.Code)
}

// unavailable describes an error without the password.
func (s *Store) unavailable(err error) error {
	return fmt.Errorf("%w: PostgreSQL: %s", store.ErrUnavailable, s.scrub(err))
}

// scrub returns an error's text without the password. The cause is not wrapped, because its fields contain the URL.
func (s *Store) scrub(err error) string {
	text := err.Error() // only the message of a server's error, because its details could contain values
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}
