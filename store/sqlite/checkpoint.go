package sqlite

import (
	"errors"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// If the log is mustCheckpoint times as long as Config.LogPages, the committer itself moves it into the database. A
// checkpoint that runs at the same time as commits never reaches the end of the log. After the committer's own
// checkpoint, the log starts over.
const mustCheckpoint = 8

// checkpointer moves the write-ahead log into the database without delaying commits.
type checkpointer struct {
	wake  chan struct{}
	ended chan struct{}
	conn  *sqlite3.Conn // guarded by database.conns
	mu    sync.Mutex    // held during a checkpoint, until it is known whether it failed
}

func (p *checkpointer) start(d *database) {
	p.wake, p.ended = make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(p.ended)
		for range p.wake {
			d.checkpoint()
		}
	}()
}

// stop ends the checkpoints. The committer must already have ended.
func (p *checkpointer) stop() {
	if p.wake != nil {
		close(p.wake)
		<-p.ended
	}
}

// checkpoint moves as much as possible without waiting.
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

// suspect records a failed checkpoint. The next commit reopens the connections, and no checkpoint runs before that.
// If another checkpoint ran, its sync would succeed without the pages that the failed one has lost. If a checkpoint
// was busy or the disk was full, it is only postponed.
func (d *database) suspect(err error) {
	if err == nil || errors.Is(err, sqlite3.INTERRUPT) {
		return
	}
	if d.stats.checkpointFailures.Add(1); !harmless(err) {
		d.suspected.Store(true)
	}
}

// limitLog prevents the write-ahead log from growing without bounds. The committer calls it after a commit.
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
