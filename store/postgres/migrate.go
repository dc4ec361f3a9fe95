package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migration is one numbered change of the schema.
type migration struct {
	version int
	name    string
	sql     string
}

// migrations returns the migrations in a file system. They are numbered from 1 without gaps.
func migrations(files fs.FS) (all []migration, err error) {
	entries, err := fs.ReadDir(files, "migrations") // sorted by name
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		number, _, _ := strings.Cut(entry.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: the number must be %04d", entry.Name(), i+1)
		}
		sql, err := fs.ReadFile(files, path.Join("migrations", entry.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version, entry.Name(), string(sql)})
	}
	return all, nil
}

// migrationLock is the key of the advisory lock that replicas take to migrate. Its value is arbitrary.
const migrationLock = 0x706f737465726e // "postern"

const createMigrations = `CREATE TABLE IF NOT EXISTS postern_migrations (
	version int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`

// migrate migrates the schema on a separate connection.
func (s *Store) migrate(ctx context.Context, config *pgxpool.Config, all []migration) error {
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return migrate(ctx, conn, all)
}

// migrate applies the missing migrations in one transaction. If one fails, the schema does not change. Replicas that
// start at the same time wait for each other.
func migrate(ctx context.Context, conn *pgx.Conn, all []migration) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		// The session's own limits are for short commands.
		const patience = `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
			set_config('idle_in_transaction_session_timeout', '10s', true)`
		if _, err := tx.Exec(ctx, patience); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, createMigrations); err != nil {
			return err
		}
		var current int
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM postern_migrations").Scan(&current); err != nil {
			return err
		}
		if current > len(all) {
			return fmt.Errorf("the database has schema version %d, but this version of Postern knows only %d: start the newer version", current, len(all))
		}
		return apply(ctx, tx, all[current:])
	})
}

func apply(ctx context.Context, tx pgx.Tx, missing []migration) error {
	for _, m := range missing {
		if _, err := tx.Exec(ctx, m.sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("migration %s failed, the schema is unchanged: %w", m.name, err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO postern_migrations (version, name) VALUES ($1, $2)", m.version, m.name); err != nil {
			return err
		}
	}
	return nil
}
