// Package deps keeps requirements until their packages import them.
package deps

import (
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/vfs"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback"
)
