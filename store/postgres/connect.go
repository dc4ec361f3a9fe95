package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	defaultMaxConns      = 16
	defaultMaxWaiting    = 2000
	defaultTimeout       = 5 * time.Second
	defaultCacheBytes    = 64 << 20
	defaultExpiringBytes = 1 << 30
	connectTimeout       = 5 * time.Second
)

// These limits bound the damage that a replica can do to others when it is cut off; see
// docs/project/decisions/storage.md. The URL's own parameters take precedence.
const (
	lockTimeout = time.Second            // how long a command waits for an object that another replica holds
	idleTimeout = 500 * time.Millisecond // how long a transaction waits for its client; longer than a round trip
	userTimeout = 2 * time.Second        // how long data may stay unacknowledged by the server
)

// errURL does not quote any part of the URL, because any part may be the password.
var errURL = errors.New("POSTERN_DATABASE is not a valid PostgreSQL URL; it must look like postgres://user:password@host:5432/database?sslmode=verify-full, " +
	"with special characters of the password percent-encoded")

func (c Config) withDefaults() Config {
	c.MaxWaiting = cmp.Or(c.MaxWaiting, defaultMaxWaiting)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.ExpiringBytes = cmp.Or(c.ExpiringBytes, defaultExpiringBytes)
	c.CacheBytes = cmp.Or(c.CacheBytes, defaultCacheBytes)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// parse returns the pool's configuration and the secrets that must not appear in errors.
func (c *Config) parse() (*pgxpool.Config, []string, error) {
	u, err := url.Parse(c.URL)
	if err != nil || !plausible(u) {
		return nil, nil, errURL
	}
	pool, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("POSTERN_DATABASE: %s", reason(err))
	}
	switch {
	case c.MaxConns > 0:
		pool.MaxConns = int32(c.MaxConns)
	case !u.Query().Has("pool_max_conns"):
		pool.MaxConns = defaultMaxConns
	}
	if err := c.connection(pool.ConnConfig); err != nil {
		return nil, nil, err
	}
	// The pool does not check a connection before it is used, because a check costs a round trip. The first statement
	// of a transaction notices a broken connection. The transaction is then repeated on another connection.
	pool.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool.AfterConnect = prepare
	return pool, secretsOf(u, pool.ConnConfig), nil
}

// plausible returns false if a part of the URL may be the rest of a password that contains an unencoded "/", "?", "#"
// or "@".
func plausible(u *url.URL) bool {
	rest := strings.TrimPrefix(u.Path, "/") + u.RawQuery
	return (u.Scheme == "postgres" || u.Scheme == "postgresql") && u.Fragment == "" && !strings.Contains(rest, "@") &&
		!strings.Contains(strings.TrimPrefix(u.Path, "/"), "/")
}

// connection sets the limits of a session. The URL's own parameters take precedence.
func (c *Config) connection(config *pgx.ConnConfig) error {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for name, value := range map[string]string{
		"application_name":    "postern",
		"synchronous_commit":  "on", // the database's default may be off
		"statement_timeout":   ms(c.Timeout),
		"lock_timeout":        ms(min(c.Timeout/2, lockTimeout)),
		"TimeZone":            "UTC",
		"client_min_messages": "warning",
		// If a replica is cut off, it must not keep objects locked.
		"idle_in_transaction_session_timeout": ms(min(c.Timeout, idleTimeout)),
		"tcp_user_timeout":                    ms(userTimeout),
		"tcp_keepalives_idle":                 "2", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "2",
	} {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout <= 0 || config.ConnectTimeout > connectTimeout {
		config.ConnectTimeout = connectTimeout
	}
	if config.ValidateConnect == nil { // after a failover, the old primary may have become a standby
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	config.OnNotice = noteWarning
	switch commit := config.RuntimeParams["synchronous_commit"]; commit {
	case "on", "remote_apply":
		return nil
	default:
		return fmt.Errorf("POSTERN_DATABASE: synchronous_commit=%s would lose acknowledged changes; remove the parameter", commit)
	}
}

// secretsOf returns the passwords of a URL, both decoded and as written in the URL.
func secretsOf(u *url.URL, config *pgx.ConnConfig) (secrets []string) {
	add := func(secret string) {
		if secret != "" {
			secrets = append(secrets, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	add(config.Password)
	add(u.Query().Get("password"))
	add(u.Query().Get("sslpassword"))
	if password, ok := u.User.Password(); ok {
		add(password)
		_, raw, _ := strings.Cut(u.User.String(), ":")
		add(raw)
	}
	return secrets
}

// reason returns the end of a configuration error. This part follows the URL in the text.
func reason(err error) string {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return "a parameter of the pool is invalid"
	}
	text := err.Error()
	if at := strings.LastIndex(text, "`: "); at >= 0 {
		return text[at+len("`: "):]
	}
	return errURL.Error()
}

// The key of a connection's custom data that is set while a warning is unread.
const warned = "postern.warned"

// noteWarning notes that the server has sent a warning. After COMMIT, a warning means that the commit no longer waits
// for the synchronous standby; see commit.
func noteWarning(c *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warned] = true
	}
}

// prepare prepares the statements on a new connection, so that commands do not have to prepare them.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	for name, sql := range statements {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			return err
		}
	}
	return nil
}
