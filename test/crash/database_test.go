package crash

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver" // the driver "sqlite3" of database/sql

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/sqlite"
)

// checkIntegrity runs SQLite's own check on a copy of the database. The copy has the state in which the kill left the
// database. The server recovers the original.
func (d *deployment) checkIntegrity() {
	d.Helper()
	folder := d.TempDir()
	files, err := filepath.Glob(filepath.Join(d.data(), sqlite.DatabaseFile+"*"))
	if err != nil || len(files) == 0 {
		d.Fatalf("no database: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "-shm") { // an index of the log; SQLite creates it again
			continue
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(file)), data, 0o600)
		}
		if err != nil {
			d.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(folder, sqlite.DatabaseFile))
	if err != nil {
		d.Fatal(err)
	}
	defer db.Close()
	var result string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
		d.Errorf("integrity check: %q, %v", result, err)
	}
}

// database is the data of a server that is not running. It runs the objects on that data.
type database struct {
	*world
	store.Store
	objects *host.StoredObjects
}

// Now returns the time of the objects.
func (w *world) Now() uint64 { return uint64(w.now().UnixMilli()) }

// checkDatabase runs all alarms. After that, no reservation may be open, and no delivery may be waiting.
func (w *world) checkDatabase() {
	w.Helper()
	opened, err := sqlite.Open(context.Background(), sqlite.Config{Dir: w.data(), Clock: w})
	if err != nil {
		w.Fatal(err)
	}
	defer opened.Close()
	engine, err := host.NewNative(abi.Config{Catalog: catalog.Default, Env: []abi.Header{{Name: "POSTERN_CATALOG", Value: w.catalog}}})
	if err != nil {
		w.Fatal(err)
	}
	db := &database{w, opened, &host.StoredObjects{Engine: engine, Store: opened, Stats: &host.Stats{}}}
	db.quiesce()
	for _, p := range w.projects {
		for _, a := range p.all() {
			db.checkMeter(a)
		}
	}
	w.step(abi.RedeliverMs * time.Millisecond) // the checks above have closed idle slices; on their alarms, the meters report these to the Ledgers
	db.quiesce()
	db.checkOutbox(abi.ClassDirectory, directory.Name)
	for _, p := range w.projects {
		db.checkOutbox(abi.ClassLedger, p.id)
		for _, a := range p.all() {
			db.checkOutbox(abi.ClassKeyMeter, keys.Hash(a.value))
		}
	}
}

// quiesce runs all alarms that are due, and their deliveries.
func (db *database) quiesce() {
	db.Helper()
	for rang := true; rang; {
		var err error
		if rang, err = db.objects.Ring(context.Background()); err != nil {
			db.Fatal(err)
		}
		db.objects.Wait()
	}
	if now, at, err := db.NextAlarm(context.Background()); err != nil || at != 0 && at <= now {
		db.Errorf("an alarm of %v is due at %v: %v", time.UnixMilli(int64(at)), time.UnixMilli(int64(now)), err)
	}
}

// checkMeter checks that a key has no open reservation.
func (db *database) checkMeter(a *account) {
	db.Helper()
	command := keymeter.Flush{}
	answer, err := db.objects.Call(context.Background(), abi.ClassKeyMeter, keys.Hash(a.value), "", command.Encode())
	db.objects.Wait()
	if err != nil {
		db.Fatal(err)
	}
	if reply, err := keymeter.DecodeFlushReply(answer); err != nil || reply.Open != 0 {
		db.Errorf("%s has %d open reservations, %v", a.tag, reply.Open, err)
	}
}

func (db *database) checkOutbox(class abi.Class, name string) {
	db.Helper()
	err := db.Run(context.Background(), store.Object{Class: class, Name: name}, func(rows store.Rows, _ uint64) error {
		if key, d, err := object.NextDelivery(rows); err != nil || key != "" {
			return fmt.Errorf("it still has %s to %d %s: %w", key, d.Class, d.Name, err)
		}
		return nil
	})
	if err != nil {
		db.Errorf("the outbox of %d %s: %v", class, name, err)
	}
}
