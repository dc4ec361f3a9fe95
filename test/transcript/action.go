// Package transcript formats the events and actions of an exchange as text. The text is for the transcripts in
// core/exchange/testdata and for the paths that test/explore prints. Only tests use the package.
package transcript

import (
	"fmt"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// Printer formats actions and events. The zero value masks nothing.
type Printer struct {
	// Mask replaces secrets and hashes with names. If it is nil, nothing is replaced.
	Mask *strings.Replacer
	// Buffer returns a buffer's name. If it is nil, buffers are shown by number.
	Buffer func(number uint64) string
	// Timeouts adds the timeouts of fetches.
	Timeouts bool
	// Limit is the maximum number of bytes of a body that are shown. 0 means defaultLimit.
	Limit int
}

const defaultLimit = 160

var actionNames = [...]string{
	"", "read-body", "supply", "keep", "read", "write", "call", "fetch", "respond", "wait", "cancel", "log", "forward", "open", "send", "close", "append", "unseal",
	"pin", "join", "follow", "publish", "land", "pause", "resume",
}

// Action formats one action as a line. For requests and responses, it adds an indented line for each relevant header
// and one for the body. The result does not end with a line break.
func (p *Printer) Action(a *abi.Action) string {
	line := actionNames[a.Kind]
	if a.ID != 0 {
		line += fmt.Sprintf(" #%d", a.ID)
	}
	if about := p.about(a); about != "" {
		line += " " + about
	}
	return p.masked(line)
}

func (p *Printer) about(a *abi.Action) string {
	switch a.Kind {
	case abi.ActionReadBody:
		return fmt.Sprintf("into %s, at most %d bytes", p.buffer(a.Buffer), a.Limit)
	case abi.ActionSupply:
		return p.buffer(a.Buffer)
	case abi.ActionKeep, abi.ActionAppend:
		return p.buffer(a.Buffer) + " " + p.text(a.Data)
	case abi.ActionRead:
		return read(a)
	case abi.ActionJoin:
		then := ", then " + where(a.Where)
		if a.Key == "" {
			return "the flight " + flight(a.Name) + then
		}
		return a.Key + " in memory, or the flight " + flight(a.Name) + then
	case abi.ActionPublish:
		return fmt.Sprintf("%s%s", p.buffer(a.Buffer), p.body(a.Body))
	case abi.ActionLand:
		return p.land(a)
	case abi.ActionWrite:
		return p.write(a)
	case abi.ActionCall:
		return call(a)
	case abi.ActionFetch:
		return p.fetch(a)
	case abi.ActionRespond:
		return fmt.Sprint(a.Code) + headers(a.Headers) + p.body(a.Body)
	case abi.ActionOpen:
		return fmt.Sprint(a.Code) + headers(a.Headers)
	case abi.ActionSend:
		return strings.TrimLeft(p.body(a.Body), "\n ")
	case abi.ActionWait:
		return duration(a.KeepMs) + [...]string{abi.WaitTimer: "", abi.WaitLast: " in the queue", abi.WaitFirst: " first in the queue"}[a.Code]
	case abi.ActionLog:
		return logLine(a.Data)
	case abi.ActionForward:
		return strings.TrimLeft(headers(a.Headers), "\n ")
	case abi.ActionPin:
		return a.Key
	case abi.ActionUnseal:
		return fmt.Sprintf("%s for %s", p.buffer(a.Buffer), a.Name)
	}
	return ""
}

func where(stores uint64) string {
	var names []string
	for i, name := range []string{"memory", "KV", "colo"} {
		if stores>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func read(a *abi.Action) string {
	text := a.Key + " in " + where(a.Where)
	if a.Where&abi.WhereKV != 0 && a.Limit > 0 {
		text += ", in KV for at most " + duration(a.Limit)
	}
	return text
}

// flight shortens the name of a flight: it removes the cache entry's key from its start.
func flight(name string) string {
	parts := strings.SplitN(name, "/", 4)
	return "…/" + parts[len(parts)-1]
}

// landings are names for the ways in which flights end.
var landings = [...]string{
	abi.FlightMore: "more", abi.FlightLanded: "landed", abi.FlightFailed: "failed", abi.FlightRetry: "retry", abi.FlightAlone: "alone",
}

func (p *Printer) land(a *abi.Action) string {
	text := landings[a.Code]
	if a.Code == abi.FlightFailed && len(a.Data) > 0 {
		return text + " " + p.text(a.Data)
	}
	if len(a.Data) > 0 {
		text += " with the response"
	}
	return text
}

// write shows the stored value and its lifetime. A write without a body removes the key.
func (p *Printer) write(a *abi.Action) string {
	text := a.Key + " in " + where(a.Where)
	if len(a.Body) == 0 {
		return text + ": removed"
	}
	text += " for " + duration(a.KeepMs)
	if a.Where&abi.WhereKV != 0 && a.TTL*1000 != a.KeepMs {
		text += fmt.Sprintf(", in KV for %s", duration(a.TTL*1000))
	}
	return text + ": " + stored(a.Key, a.Body[0].Data)
}

// stored describes a stored value by its key and format.
func stored(key string, data []byte) string {
	if strings.HasPrefix(key, "cache/") {
		return "the response"
	}
	encoded, beside := doc.SplitKnown(data)
	record, err := doc.DecodeRecord(encoded)
	policy, noPolicy := doc.DecodePolicy(data)
	switch {
	case err == nil && len(beside) > 0:
		policy, _ = doc.DecodePolicy(beside)
		return fmt.Sprintf("record version %d and policy version %d", record.Version, policy.Version)
	case err == nil:
		return fmt.Sprintf("record version %d", record.Version)
	case noPolicy == nil:
		return fmt.Sprintf("policy version %d", policy.Version)
	}
	return "unknown key"
}

func (p *Printer) fetch(a *abi.Action) string {
	text := a.Method + " " + a.URL
	if a.Stream != 0 {
		text += fmt.Sprintf(", streamed if %d", a.Stream)
	}
	if p.Timeouts {
		text += fmt.Sprintf(", timeouts: head %s, first byte %s, idle %s, total %s",
			duration(a.HeadMs), duration(a.FirstByteMs), duration(a.IdleMs), duration(a.TotalMs))
	}
	return text + headers(a.Headers) + p.body(a.Body)
}

// duration formats milliseconds. It leaves out units that are zero.
func duration(ms uint64) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// dull lists headers that are on every message, and headers that repeat other information.
var dull = map[string]bool{
	"x-request-id": true, "request-id": true, "cache-control": true, "server-timing": true, "x-postern-price-version": true,
	"accept": true,
}

func headers(all []abi.Header) (text string) {
	for _, h := range all {
		if dull[h.Name] || h.Name == "content-type" && h.Value == "application/json" {
			continue
		}
		text += "\n    " + h.Name + ": " + h.Value
	}
	return text
}

func (p *Printer) body(parts []abi.Part) string {
	text := p.parts(parts)
	if text == "" {
		return ""
	}
	return "\n    " + strings.ReplaceAll(text, "\n", "\n    ")
}
