package sqlite

import (
	"errors"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// mustCheckpoint times Config.LogPages is the length of the log from which the committer moves it into the database
// itself. During commits, a checkpoint beside them never reaches the log's end; then the log starts over.
const mustCheckpoint = 8

// checkpointer moves the write-ahead log into the database, off the way of commits.
type checkpointer struct {
	wake  chan struct{}
	ended chan struct{}
	conn  *sqlite3.Conn // guarded by database.conns
	mu    sync.Mutex    // held during a checkpoint, until its failure is known
}

// start starts the checkpoints.
func (p *checkpointer) start(d *database) {
	p.wake, p.ended = make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(p.ended)
		for range p.wake {
			d.checkpoint()
		}
	}()
}

// stop ends them. The committer has ended before.
func (p *checkpointer) stop() {
	if p.wake != nil {
		close(p.wake)
		<-p.ended
	}
}

// checkpoint moves as much as it can without waiting for anybody.
func (d *database) checkpoint() {
	d.conns.RLock()
	defer d.conns.RUnlock()
	d.checkpointer.mu.Lock()
	defer d.checkpointer.mu.Unlock()
	if d.suspected.Load() {
		return
	}
	var err error
	if d.checkpointer.conn == nil {
		d.checkpointer.conn, err = d.opener.connect(sqlite3.OPEN_READWRITE)
	}
	if err == nil {
		_, _, err = d.checkpointer.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	}
	d.suspect(err)
}

// suspect remembers a failed checkpoint: the next commit opens the connections again, and no checkpoint runs before. The
// sync of another one would succeed without the pages that the failed one has lost. A checkpoint that was busy or found the
// disk full is just made later.
func (d *database) suspect(err error) {
	if err == nil || errors.Is(err, sqlite3.INTERRUPT) {
		return
	}
	if d.stats.checkpointFailures.Add(1); !harmless(err) {
		d.suspected.Store(true)
	}
}

// limitLog keeps the write-ahead log from growing. The committer calls it after a commit.
func (d *database) limitLog() {
	switch pages := d.writer.frames; {
	case pages >= mustCheckpoint*d.config.LogPages:
		d.checkpointNow()
	case pages >= d.config.LogPages:
		select {
		case d.checkpointer.wake <- struct{}{}:
		default:
		}
	}
}

func (d *database) checkpointNow() {
	d.checkpointer.mu.Lock()
	defer d.checkpointer.mu.Unlock()
	if !d.suspected.Load() {
		_, _, err := d.writer.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		d.suspect(err)
	}
}
