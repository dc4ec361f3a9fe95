package compliance

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chain"
)

// Types of exports.
const (
	Inventory  = "inventory"
	Policies   = "policies"
	Violations = "violations"
	Access     = "access"
	Usage      = "usage"
	Audit      = "audit"
)

// Types are all types, in the order of the documentation.
var Types = []string{Inventory, Policies, Violations, Access, Usage, Audit}

// ObjectOf returns the object whose chain is in an export of the given type. If exports of that type contain no
// chain, it returns "".
func ObjectOf(exportType string) string {
	switch exportType {
	case Violations, Usage:
		return chain.Ledger
	case Policies, Access, Audit:
		return chain.Directory
	}
	return ""
}

// HasPayload reports whether an export of a type includes the payload of an event. Of all other events, it includes
// only the hashes, so that the chain has no gap.
func HasPayload(exportType, kind string) bool {
	subject, _, _ := strings.Cut(kind, ".")
	switch exportType {
	case Audit:
		return true
	case Policies:
		return !slices.Contains([]string{"key", "session", "violation"}, subject)
	case Access:
		return slices.Contains([]string{"key", "provider_key", "project"}, subject)
	case Violations:
		return subject == "violations"
	case Usage:
		return subject == "usage"
	}
	return false
}

// Format and FormatVersion identify a header.
const (
	Format        = "postern-export"
	FormatVersion = 1
)

// Header is the first line of each page of an export.
type Header struct {
	Format      string       `json:"format"`
	Version     int          `json:"version"`
	Type        string       `json:"type"`
	Project     string       `json:"project"`
	From        *string      `json:"from"`   // RFC 3339, inclusive; null: no limit
	To          *string      `json:"to"`     // RFC 3339, exclusive; null: no limit
	Sample      bool         `json:"sample"` // at least one record type has only a sample of its lines
	Records     []Record     `json:"records"`
	Chain       *ChainRange  `json:"chain"` // null: the type has no events
	Checkpoints []Checkpoint `json:"checkpoints"`
	PublicKeys  []string     `json:"publicKeys"`
	GeneratedAt string       `json:"generatedAt"`
	After       *string      `json:"after"` // the cursor of this page; null: this is the first page
	Next        *string      `json:"next"`  // the next page's "after"; null: this is the last page
	// LinesHash is the SHA-256 hash of the page's other lines, each with its line feed: 64 hexadecimal digits.
	LinesHash string         `json:"linesHash"`
	Signature *PageSignature `json:"signature"` // null: no signing key is configured
}

// Record describes one type of lines of an export.
type Record struct {
	Record  string `json:"record"`  // value of the lines' "record"
	Sample  bool   `json:"sample"`  // the lines are a sample, not all
	Chained bool   `json:"chained"` // the lines are entries of the chain
}

// ChainRange is the part of a chain that the pages of an export contain. The first page determines it.
type ChainRange struct {
	Object string `json:"object"`
	Oldest uint64 `json:"oldest"` // the oldest entry that still exists
	First  uint64 `json:"first"`  // the export's first entry
	Last   uint64 `json:"last"`   // the last entry of the export; if it is less than First, there are no entries
	Head   uint64 `json:"head"`   // the newest entry
}

// Event is the line of an entry. Its payload is the last field, written exactly as it was hashed.
type Event struct {
	Record      string          `json:"record"` // "event"
	Seq         uint64          `json:"seq"`
	Time        string          `json:"time"` // RFC 3339, UTC, milliseconds
	Kind        string          `json:"kind"`
	PayloadHash string          `json:"payloadHash"`
	Previous    string          `json:"previous"`
	Hash        string          `json:"hash"`
	Payload     json.RawMessage `json:"payload"` // null: omitted, because the export is about something else
}

// EventRecord is the value of Event.Record.
const EventRecord = "event"

// AppendEvent appends the line of an entry, without its end.
func AppendEvent(line []byte, e *chain.Entry, at string, withPayload bool) []byte {
	line = append(line, `{"record":"event","seq":`...)
	line = strconv.AppendUint(line, e.Seq, 10)
	for _, member := range [...][2]string{
		{"time", at}, {"kind", e.Kind}, {"payloadHash", e.PayloadHash.String()},
		{"previous", e.Previous.String()}, {"hash", e.Hash.String()},
	} {
		line = append(line, `,"`+member[0]+`":"`+member[1]+`"`...)
	}
	line = append(line, `,"payload":`...)
	if withPayload {
		return append(append(line, e.Payload...), '}')
	}
	return append(line, "null}"...)
}
