package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// recover reopens the connections after a failure that left them in an unknown state.
func (d *database) recover() error {
	if d.suspected.Load() {
		d.reopen = true
	}
	if !d.reopen && d.writer != nil {
		return nil
	}
	d.interrupt()
	d.conns.Lock()
	defer d.conns.Unlock()
	if d.writer != nil {
		if err := d.writer.seal(); err != nil {
			return err
		}
		closeConn(d.writer.conn)
		d.writer = nil
	}
	d.closeOthers()
	if err := d.openWriter(); err != nil {
		return err
	}
	d.reopen = false
	d.suspected.Store(false)
	d.stats.recoveries.Add(1)
	return nil
}

// seal makes the write-ahead log on the disk identical to the one that SQLite sees. After a failed sync, the kernel
// may have dropped pages that readers still see as written. A second sync would succeed without these pages.
// Therefore, seal writes the complete log again before it syncs. The last committed frame may be followed by a
// complete group that failed. If it stayed, its changes would reappear when the log is read at the next open,
// although its commands have failed. Therefore, seal also overwrites the frame header after the last committed frame.
func (w *writer) seal() error {
	pages, _, err := w.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_NOOP)
	if err != nil || pages < 0 {
		return err
	}
	pointer, err := w.conn.FileControl("main", sqlite3.FCNTL_JOURNAL_POINTER)
	if err != nil {
		return err
	}
	log, ok := pointer.(vfs.File)
	if !ok {
		return errors.New("no write-ahead log")
	}
	size, err := log.Size()
	if err != nil {
		return err
	}
	end := walHeader + int64(pages)*frameBytes
	if pages == 0 {
		end = 0 // the header of the log may be new, too
	}
	if err := rewrite(log, pages); err != nil {
		return err
	}
	if end < size {
		if _, err := log.WriteAt(make([]byte, min(walHeader, size-end)), end); err != nil {
			return err
		}
	}
	return log.Sync(vfs.SYNC_FULL)
}
