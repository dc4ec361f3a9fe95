// Package logging writes the log of a server: records of log/slog, and the lines of the gateway and the control plane, which
// are JSON already, in one format with the same field names. Writing never blocks: lines wait in a bounded buffer.
package logging

import (
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

// New returns a log that writes to w. level is debug, info, warn or error; empty is info. format is json or text; empty is
// json. Lines are buffered: call Close before the process ends.
func New(level, format string, w io.Writer) (*Log, error) {
	least, ok := levels[level]
	if !ok && level != "" {
		return nil, fmt.Errorf("logging: level must be debug, info, warn or error, got %q", level)
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: rename}
	b := newBuffer(w)
	h := handler{buffer: b, level: least}
	switch format {
	case "json", "":
		h.Handler, h.raw = slog.NewJSONHandler(b, options), true
	case "text":
		options.ReplaceAttr = nil
		h.Handler = slog.NewTextHandler(b, options)
	default:
		return nil, fmt.Errorf("logging: format must be json or text, got %q", format)
	}
	l := &Log{buffer: b, logger: slog.New(h)}
	b.start(h.Handler)
	return l, nil
}

// Logger returns the logger. Lines recognizes its handler.
func (l *Log) Logger() *slog.Logger { return l.logger }

// Close writes the lines that are still buffered and returns when the destination has them, or with ctx's error. Later
// lines are written without a buffer.
func (l *Log) Close(ctx context.Context) error { return l.buffer.close(ctx) }

// Dropped returns the number of lines lost because the destination was too slow. A warning in the log tells it too.
func (l *Log) Dropped() uint64 { return l.buffer.dropped.Load() }

// rename gives records the field names of the gateway's lines.
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
	level  slog.Level
	raw    bool // lines that are JSON pass unchanged
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
