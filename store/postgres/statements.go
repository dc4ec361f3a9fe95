package postgres

// Names of the prepared statements.
const (
	stBegin     = "postern_begin"
	stCommit    = "postern_commit"
	stLock      = "postern_lock"
	stLockDue   = "postern_lock_due"
	stCreate    = "postern_create"
	stUpdate    = "postern_update"
	stReadUsual = "postern_read_usual"
	stReadOne   = "postern_read_one"
	stReadRange = "postern_read_range"
	stPut       = "postern_put"
	stDelete    = "postern_delete"
	stNext      = "postern_next"
	stReadKV    = "postern_read_kv"
	stWriteKV   = "postern_write_kv"
	stCacheKV   = "postern_cache_kv"
	stDeleteKV  = "postern_delete_kv"
	stExpireKV  = "postern_expire_kv"
	stEvictKV   = "postern_evict_kv"
	stSizeKV    = "postern_size_kv"
	stCheck     = "postern_check"
)

// nowMs is the database's time in Unix milliseconds. now() would be wrong: it returns the start of the transaction,
// before the transaction held the lock.
const nowMs = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// theTime is the first parameter if that is set (a test's time). Otherwise, it is the database's time. It is a
// subquery, so it is evaluated only once, and an index can be used.
const theTime = "(SELECT coalesce($1::bigint, " + nowMs + "))"

var statements = map[string]string{
	stBegin:  "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
	stCommit: "COMMIT",
	// The subquery takes the lock before the outer query reads the time. PostgreSQL keeps this order, because it
	// never merges a query with FOR UPDATE into another one. If an object does not exist, the result is a row of
	// nulls.
	stLock: "SELECT o.id, o.version, o.alarm, " + nowMs + ` FROM (SELECT 1) AS always LEFT JOIN (
		SELECT id, version, alarm FROM postern_objects WHERE class = $1 AND name = $2 FOR UPDATE) AS o ON true`,
	stLockDue: "SELECT o.id, o.class, o.name, o.version, o.alarm, " + nowMs + ` FROM (
		SELECT id, class, name, version, alarm FROM postern_objects WHERE alarm <= ` + theTime + ` AND id <> ALL ($2::bigint[])
		ORDER BY alarm, name LIMIT 1 FOR UPDATE SKIP LOCKED) AS o`,
	stCreate: `INSERT INTO postern_objects (class, name, version, alarm) VALUES ($1, $2, $3, $4)
		ON CONFLICT (class, name) DO NOTHING RETURNING id`,
	stReadUsual: `SELECT r.key, r.value FROM postern_objects AS o JOIN postern_rows AS r ON r.object = o.id
		WHERE o.class = $1 AND o.name = $2 AND o.version IS DISTINCT FROM $3::bigint AND r.key = ANY ($4::text[])`,
	stUpdate:    "UPDATE postern_objects SET version = $2, alarm = $3 WHERE id = $1",
	stReadOne:   "SELECT key, value FROM postern_rows WHERE object = $1 AND key = $2",
	stReadRange: "SELECT key, value FROM postern_rows WHERE object = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4",
	stPut: `INSERT INTO postern_rows (object, key, value) SELECT $1, key, value FROM unnest($2::text[], $3::bytea[]) AS r (key, value)
		ON CONFLICT (object, key) DO UPDATE SET value = excluded.value`,
	stDelete: "DELETE FROM postern_rows WHERE object = $1 AND key = ANY ($2::text[])",
	stNext:   "SELECT " + theTime + ", (SELECT min(alarm) FROM postern_objects WHERE alarm IS NOT NULL)",
	stReadKV: "SELECT value FROM postern_kv WHERE key = $2 AND (expires IS NULL OR expires > " + theTime + ")",
	stWriteKV: `INSERT INTO postern_kv (key, value) VALUES ($1, $2)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires = NULL`,
	// A cached response may be lost in a crash, so its commit does not wait for the disk.
	stCacheKV: `INSERT INTO postern_kv (key, value, expires) SELECT $2, $3, ` + theTime + ` + $4::bigint FROM (
			SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires = excluded.expires`,
	stDeleteKV: "DELETE FROM postern_kv WHERE key = $1",
	stExpireKV: `DELETE FROM postern_kv USING (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed WHERE key IN (
		SELECT key FROM postern_kv WHERE expires <= ` + theTime + ` ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`,
	// The values that expire last are kept. Their total size is limited.
	stEvictKV: `DELETE FROM postern_kv WHERE key IN (
		SELECT key FROM (
			SELECT key, expires, sum(pg_column_size(value) + octet_length(key)) OVER (ORDER BY expires DESC, key) AS total
			FROM postern_kv WHERE expires IS NOT NULL) AS expiring
		WHERE total > $1 ORDER BY expires LIMIT $2)`,
	stSizeKV: "SELECT pg_total_relation_size('postern_kv')",
	stCheck: `INSERT INTO postern_check (id, checked) VALUES (1, clock_timestamp())
		ON CONFLICT (id) DO UPDATE SET checked = excluded.checked`,
}
