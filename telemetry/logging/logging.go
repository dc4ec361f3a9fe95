// Package logging writes the log of a server in one format with consistent field names. The log consists of log/slog
// records and of lines from the gateway and the control plane, which are already JSON. Writing never blocks: lines
// wait in a bounded buffer.
package logging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Log is the log of a process.
type Log struct {
	buffer *buffer
	logger *slog.Logger
}

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// New returns a log that writes to w. level is debug, info, warn or error, and format is json or text. The defaults
// are info and json. Lines are buffered, so call Close before the process ends.
func New(level, format string, w io.Writer) (*Log, error) {
	least, ok := levels[level]
	if !ok && level != "" {
		return nil, fmt.Errorf("logging: level must be debug, info, warn or error, got %q", level)
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: rename}
	b := newBuffer(w)
	var to func(io.Writer) slog.Handler
	switch format {
	case "json", "":
		to = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, options) }
	case "text":
		to = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, &slog.HandlerOptions{Level: least}) }
	default:
		return nil, fmt.Errorf("logging: format must be json or text, got %q", format)
	}
	go b.run(func(lost uint64) []byte { return notice(to, lost) })
	return &Log{b, slog.New(handler{Handler: to(b), buffer: b, raw: format != "text"})}, nil
}

func notice(to func(io.Writer) slog.Handler, lost uint64) []byte {
	var line bytes.Buffer
	slog.New(to(&line)).Error("lines were dropped: the log's destination was too slow or failed", "code", "log_lines_dropped", "lines", lost)
	return line.Bytes()
}

// Logger returns the logger. Lines recognizes its handler.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Close writes the lines that are still buffered. It returns when the destination has them. If ctx ends earlier, it
// returns the error of ctx. Later lines are written without a buffer.
func (l *Log) Close(ctx context.Context) error { return l.buffer.close(ctx) }

// Dropped returns the number of lost lines. Lines are lost if the destination is too slow or fails. As soon as the
// destination accepts a line again, a line in the log also reports the number.
func (l *Log) Dropped() uint64 { return l.buffer.dropped.Load() }

// rename gives records the same field names as the gateway's lines.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.Int64("timeMs", a.Value.Time().UnixMilli())
	case slog.LevelKey:
		level, _ := a.Value.Any().(slog.Level)
		return slog.String("level", strings.ToLower(level.String()))
	case slog.MessageKey:
		return slog.Attr{Key: "message", Value: a.Value}
	}
	return a
}

// handler is a handler of this package.
type handler struct {
	slog.Handler
	buffer *buffer
	raw    bool // JSON lines are passed on unchanged
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
