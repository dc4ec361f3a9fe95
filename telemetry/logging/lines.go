package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strconv"
	"time"
)

// Lines returns a writer for host.Options.Log and for log.SetOutput, to which the control plane logs. Each Write is
// one line: either a JSON object that starts with its level, or text. Text becomes the message of a warning. In the
// JSON format, a JSON line is passed on unchanged; only timeMs is added if it is missing. In the text format, the
// fields of a JSON line become attributes. Line breaks inside a line cannot start a new line.
func Lines(logger *slog.Logger) io.Writer {
	h, _ := logger.Handler().(handler)
	return &lines{logger.Handler(), h}
}

type lines struct {
	to  slog.Handler
	own handler // zero if the handler to is from another package
}

// Write implements io.Writer. It never returns an error, because nothing could report it.
func (l *lines) Write(p []byte) (int, error) {
	line := bytes.TrimSuffix(p, []byte("\n"))
	word, rest, ok := cutLevel(line)
	if !ok {
		l.handle(slog.NewRecord(time.Now(), slog.LevelWarn, string(line), 0))
		return len(p), nil
	}
	level, known := levels[string(word)]
	if !known {
		level = slog.LevelWarn
	}
	switch {
	case !l.to.Enabled(context.Background(), level):
	case l.own.raw:
		l.pass(level, p[len(line)-len(rest):])
	default:
		l.handle(record(level, line))
	}
	return len(p), nil
}

func (l *lines) handle(r slog.Record) {
	if l.to.Enabled(context.Background(), r.Level) {
		_ = l.to.Handle(context.Background(), r)
	}
}

// pass writes a JSON line. rest is everything after the level, including the line break.
func (l *lines) pass(level slog.Level, rest []byte) {
	head := append(append(append(make([]byte, 0, 64), levelPrefix...), words[level]...), '"')
	if !bytes.HasPrefix(rest, []byte(`,"timeMs":`)) {
		head = strconv.AppendInt(append(head, `,"timeMs":`...), time.Now().UnixMilli(), 10)
	}
	l.own.buffer.add(head, rest)
}

var words = map[slog.Level]string{
	slog.LevelDebug: "debug", slog.LevelInfo: "info", slog.LevelWarn: "warn", slog.LevelError: "error",
}

const levelPrefix = `{"level":"`

// cutLevel splits a JSON object that starts with its level, a word. rest starts with a comma or the closing brace.
func cutLevel(line []byte) (word, rest []byte, ok bool) {
	after, found := bytes.CutPrefix(line, []byte(levelPrefix))
	if !found || bytes.ContainsAny(line, "\r\n") || !json.Valid(line) {
		return nil, nil, false
	}
	end := bytes.IndexByte(after, '"')
	rest = after[end+1:]
	return after[:end], rest, rest[0] == ',' || rest[0] == '}'
}

// record converts a JSON line to a record. The record's message is the line's message. If the line has none, it is
// "request". The other fields become attributes.
func record(level slog.Level, line []byte) slog.Record {
	r := slog.NewRecord(time.Now(), level, "", 0)
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	_, _ = d.Token() // the line is valid, so this is the opening brace
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		switch key, _ := name.(string); key {
		case "level":
		case "timeMs":
			if ms, err := strconv.ParseInt(string(value), 10, 64); err == nil {
				r.Time = time.UnixMilli(ms)
			}
		case "message":
			r.Message = plain(value)
		default:
			r.AddAttrs(slog.String(key, plain(value)))
		}
	}
	if r.Message == "" {
		r.Message = "request"
	}
	return r
}

// plain returns a JSON value as text. Strings are decoded, and other values are unchanged.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}
