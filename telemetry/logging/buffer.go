package logging

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// maxBuffered is the maximum number of bytes that wait for a slow destination. That is about 3,000 lines. If there
// are more, lines are dropped.
const maxBuffered = 1 << 20

// buffer passes lines to a writer in the background.
type buffer struct {
	w       io.Writer
	wake    chan struct{} // has a token if there may be something to write
	done    chan struct{} // closed when the background writer has ended
	dropped atomic.Uint64

	mu      sync.Mutex
	pending []byte
	lost    uint64 // lines dropped since the last notice
	closed  bool
}

func newBuffer(w io.Writer) *buffer {
	return &buffer{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// Write implements io.Writer.
func (b *buffer) Write(line []byte) (int, error) {
	b.add(line, nil)
	return len(line), nil
}

// add takes one line, including its line break, in two parts. It does not block. Only after close, it may have to
// wait for the destination.
func (b *buffer) add(head, tail []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed && b.finished():
		b.write(append(append([]byte(nil), head...), tail...))
	case b.closed, len(b.pending)+len(head)+len(tail) > maxBuffered:
		b.lost++
		b.dropped.Add(1)
	default:
		b.pending = append(append(b.pending, head...), tail...)
		b.notify()
	}
}

// finished reports whether the background writer has ended.
func (b *buffer) finished() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

func (b *buffer) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run writes until the buffer is closed. Each write contains all waiting lines. notice returns a line that reports
// the number of lost lines.
func (b *buffer) run(notice func(lost uint64) []byte) {
	defer close(b.done)
	var spare []byte
	var unreported uint64 // lost lines that could not be reported yet
	for range b.wake {
		b.mu.Lock()
		batch, lost, closed := b.pending, b.lost, b.closed
		b.pending, b.lost = spare[:0], 0
		b.mu.Unlock()
		failed := b.write(batch)
		spare = batch
		if lost += failed + unreported; lost > 0 {
			unreported = 0
			if _, err := b.w.Write(notice(lost)); err != nil {
				unreported = lost
			}
		}
		if closed {
			return
		}
	}
}

// write writes lines. It counts the lines that the destination does not accept and returns their number. It does not
// return an error, because a log that cannot be written must not stop the server. If only a part of a line is
// written, the line counts as lost.
func (b *buffer) write(lines []byte) (lost uint64) {
	if len(lines) == 0 {
		return 0
	}
	n, err := b.w.Write(lines)
	if err == nil {
		return 0
	}
	lost = uint64(bytes.Count(lines[min(max(n, 0), len(lines)):], []byte("\n")))
	b.dropped.Add(lost)
	return lost
}

func (b *buffer) close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.notify()
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
