package ledger

import (
	"strconv"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/jsontext"
)

// AppendJSON appends the violation as the API, webhooks and exports show it.
func (v *StoredViolation) AppendJSON(dst []byte) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	direction := "input"
	if v.Output {
		direction = "output"
	}
	for _, text := range [...]struct{ name, value string }{
		{"id", ViolationID + v.ID},
		{"state", ViolationStates[min(v.State, violationStates-1)]},
		{"rule", v.Rule},
		{"category", v.Category},
		{"severity", v.Severity},
		{"decision", v.Decision},
		{"direction", direction},
		{"model", v.Model},
		{"key", v.KeyID},
		{"requestId", v.RequestID},
		{"path", v.Path},
	} {
		b.Key(text.name)
		b.String(text.value)
	}
	for _, number := range [...]struct {
		name  string
		value uint64
	}{
		{"start", v.Start}, {"end", v.End}, {"riskScore", v.Risk}, {"policyVersion", v.Policy}, {"count", v.Count}, {"version", v.Version},
	} {
		b.Member(number.name, strconv.FormatUint(number.value, 10))
	}
	v.writeOptional(&b)
	b.Close('}')
	return b.B
}

// writeOptional writes the fields that become null if they are empty.
func (v *StoredViolation) writeOptional(b *jsontext.Builder) {
	for _, text := range [...]struct{ name, value string }{
		{"fingerprint", v.MAC},
		{"excerpt", v.Excerpt},
		{"firstAt", timestamp(v.FirstMs)},
		{"lastAt", timestamp(v.AtMs)},
		{"note", v.Note},
		{"changedAt", timestamp(v.ChangedMs)},
		{"changedBy", v.ChangedBy},
	} {
		b.Key(text.name)
		if text.value == "" {
			b.Raw("null")
		} else {
			b.String(text.value)
		}
	}
}

// timestamp returns a time in RFC 3339, or an empty string for 0.
func timestamp(ms uint64) string {
	if ms == 0 {
		return ""
	}
	return string(calendar.AppendTimestamp(nil, ms))
}
