package postern

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	logTime     = "2006-01-02T15:04:05.000Z07:00"
	levelBeyond = slog.LevelError + 100

	maxRemembered = 100 // warnings
)

var slogLevels = map[LogLevel]slog.Level{
	LogDebug: slog.LevelDebug, LogInfo: slog.LevelInfo, LogWarn: slog.LevelWarn, LogError: slog.LevelError, LogOff: levelBeyond,
}

// logger writes the client's records. A path in a record has no query.
type logger struct {
	*slog.Logger
	level   slog.Level
	content bool    // log bodies
	warned  *memory // of the client
}

func (s settings) logger(v *variables) logger {
	l := s.logging
	level := LogLevel(v.choice(presence(string(l.Level)), "WithLogging: Level", "POSTERN_LOG_LEVEL", "debug", "info", "warn", "error", "off"))
	if level == "" {
		level = LogWarn
	}
	pretty := valueOf(v.boolean(l.Pretty, "POSTERN_LOG_PRETTY"))
	handler := l.Handler
	switch {
	case handler != nil:
	case pretty:
		handler = newPrettyHandler(os.Stderr)
	default:
		handler = newJSONHandler(os.Stderr)
	}
	return logger{slog.New(handler), slogLevels[level], l.Content, &memory{texts: map[string]bool{}}}
}

func presence(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func newJSONHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: inJSON})
}

// inJSON writes the time in UTC and the level in lowercase, as all clients do.
func inJSON(_ []string, a slog.Attr) slog.Attr {
	switch value := a.Value.Any().(type) {
	case time.Time:
		return slog.String(a.Key, value.UTC().Format(logTime))
	case slog.Level:
		return slog.String(a.Key, strings.ToLower(value.String()))
	}
	return a
}

func (l logger) write(ctx context.Context, level slog.Level, msg string, attrs ...slog.Attr) {
	if level >= l.level {
		l.LogAttrs(ctx, level, msg, attrs...)
	}
}

func (l logger) insecureBaseURL(host string) {
	l.write(context.Background(), slog.LevelWarn, "insecure_base_url", slog.String("host", host))
}

func (l logger) request(c *call) {
	l.write(c.ctx, slog.LevelDebug, "request", c.method(), c.path(), slog.Int("attempt", c.attempts))
	if l.content && c.request.body != nil {
		l.write(c.ctx, slog.LevelDebug, "request_body", content(c.request.body))
	}
}

func (l logger) response(c *call, r *Response, took time.Duration) {
	l.write(c.ctx, slog.LevelDebug, "response", c.method(), c.path(), slog.Int("status", r.StatusCode),
		textOrNull("requestId", r.Meta.RequestID), slog.Int64("ms", took.Milliseconds()))
}

func (l logger) responseBody(c *call, body []byte) {
	if l.content {
		l.write(c.ctx, slog.LevelDebug, "response_body", content(body))
	}
}

// retry logs a pause after an attempt that failed.
func (l logger) retry(c *call, err error, pause time.Duration) {
	f := failureOf(err)
	reason := slog.Int("status", f.status)
	if f.status == 0 {
		reason = slog.String("error", f.code)
	}
	ms := float64(pause) / float64(time.Millisecond)
	l.write(c.ctx, slog.LevelInfo, "retry", c.method(), c.path(), slog.Int("attempt", c.attempts), reason, slog.Float64("pauseMs", ms))
}

// failed logs the failure of a call. It does not log an abort or a wrong argument, because the caller caused it. If
// the gateway refuses the request (4xx), the level is info, because the gateway has not failed.
func (l logger) failed(c *call, err error) {
	f := failureOf(err)
	if f.status == 0 && (f.code == codeAborted || f.code == codeArguments) {
		return
	}
	status := slog.Any("status", nil)
	if f.status != 0 {
		status = slog.Int("status", f.status)
	}
	level := slog.LevelError
	if f.status >= http.StatusBadRequest && f.status < http.StatusInternalServerError {
		level = slog.LevelInfo
	}
	l.write(c.ctx, level, "request_failed", c.method(), c.path(), status, textOrNull("code", f.code),
		textOrNull("requestId", f.requestID), slog.Int("attempts", c.attempts))
}

// warnings logs what the developer should know about the model. Every response repeats it, so each warning is logged
// once.
func (l logger) warnings(c *call, m Meta) {
	if d := m.Deprecation; d != nil {
		sunset := ""
		if !d.Sunset.IsZero() {
			sunset = d.Sunset.UTC().Format(logTime)
		}
		l.once(c.ctx, "deprecated_model", textOrNull("model", m.Model), textOrNull("sunset", sunset), textOrNull("successor", d.Successor))
	}
	if m.RegistryWarning != "" {
		l.once(c.ctx, "registry_warning", textOrNull("model", m.Model), slog.String("state", m.RegistryWarning))
	}
	if len(m.DroppedParams) > 0 {
		l.once(c.ctx, "dropped_params", slog.Any("params", m.DroppedParams))
	}
}

// once writes a warning if the client has not written the same one before.
func (l logger) once(ctx context.Context, msg string, attrs ...slog.Attr) {
	if l.warned.add(fmt.Sprint(msg, attrs)) {
		l.write(ctx, slog.LevelWarn, msg, attrs...)
	}
}

// memory is a set of at most maxRemembered strings. Several goroutines may use it at the same time.
type memory struct {
	mu    sync.Mutex
	texts map[string]bool
}

// add adds text to the set. If the set is full or already has text, it returns false.
func (m *memory) add(text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts[text] || len(m.texts) >= maxRemembered {
		return false
	}
	m.texts[text] = true
	return true
}

// content returns an attribute with the body. If the body is JSON, the attribute is a JSON value. Otherwise, it is a
// string.
func content(body []byte) slog.Attr {
	if json.Valid(body) {
		return slog.Any("body", json.RawMessage(body))
	}
	return slog.String("body", string(body))
}

func textOrNull(key, text string) slog.Attr {
	if text == "" {
		return slog.Any(key, nil)
	}
	return slog.String(key, text)
}

func (c *call) method() slog.Attr { return slog.String("method", c.request.method) }
func (c *call) path() slog.Attr   { return slog.String("path", c.request.path) }
