package postern

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// prettyHandler writes human-readable lines: 12:00:00.000 WARN dropped_params params=temperature.
type prettyHandler struct {
	mu *sync.Mutex // derived handlers share these fields
	w  io.Writer
}

func newPrettyHandler(w io.Writer) slog.Handler { return prettyHandler{new(sync.Mutex), w} }

func (h prettyHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h prettyHandler) WithAttrs([]slog.Attr) slog.Handler       { return h } // not needed, because the client does not derive handlers
func (h prettyHandler) WithGroup(string) slog.Handler            { return h }

func (h prettyHandler) Handle(_ context.Context, r slog.Record) error {
	var line bytes.Buffer
	fmt.Fprintf(&line, "%s %s %s", r.Time.UTC().Format("15:04:05.000"), r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Any() != nil {
			fmt.Fprintf(&line, " %s=%s", a.Key, prettyValue(a.Value))
		}
		return true
	})
	line.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(line.Bytes())
	return err
}

func prettyValue(v slog.Value) string {
	var text string
	switch value := v.Any().(type) {
	case []string:
		return strings.Join(value, ",")
	case json.RawMessage:
		return string(value)
	default:
		text = v.String()
	}
	// Quotes keep a value on one line and separate from the next field.
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}
