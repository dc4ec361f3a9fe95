package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// mustCheckpoint times Config.LogPages is the length of the log from which the committer moves it into the database
// itself. While commits go on, a checkpoint beside them never reaches the log's end; then the log starts over.
const mustCheckpoint = 8

// checkpointer moves the write-ahead log into the database, off the way of commits.
type checkpointer struct {
	wake  chan struct{}
	ended chan struct{}
	conn  *sqlite3.Conn // guarded by database.conns
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
	var err error
	if d.checkpointer.conn == nil {
		d.checkpointer.conn, err = connect(d.config, sqlite3.OPEN_READWRITE)
	}
	if err == nil {
		_, _, err = d.checkpointer.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
	}
	d.suspect(err)
}

// suspect remembers a failed checkpoint: the next commit opens the connections again. A checkpoint that was busy or found
// the disk full is just made later.
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
		_, _, err := d.writer.conn.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE)
		d.suspect(err)
	case pages >= d.config.LogPages:
		select {
		case d.checkpointer.wake <- struct{}{}:
		default:
		}
	}
}
