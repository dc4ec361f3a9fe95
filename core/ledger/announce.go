package ledger

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/jsontext"
)

// announceMs is the minimum interval between announcements of new violations. While an announcement is unconfirmed,
// no other is sent. The next announcement counts all violations since the last one.
const announceMs = 60_000

// announced is the state of announcements: alerts of type violation.created.
type announced struct {
	number    uint64          // number of announcements so far
	lastMs    uint64          // time of the last announcement
	count     uint64          // number of new violations since then
	strongest StoredViolation // the first of these with the highest severity
}

func (a *announced) fields(f *abi.Fields) {
	f.Uint(&a.number)
	f.Uint(&a.lastMs)
	f.Uint(&a.count)
	if a.count > 0 {
		storedViolationFields(f, &a.strongest)
	}
}

// add counts a new violation.
func (a *announced) add(v *StoredViolation) {
	if a.count == 0 || severityRank(v.Severity) > severityRank(a.strongest.Severity) {
		a.strongest = *v
	}
	a.count++
}

// announce creates the alert for new violations if it is due. If it is not due yet, announce sets the alarm. Without
// an endpoint, new violations are not collected.
func (c *call) announce() error {
	if c.v == nil || c.v.announced.count == 0 {
		return nil
	}
	n := &c.v.announced
	a, err := c.alerts()
	due := n.lastMs + announceMs
	switch {
	case err != nil, a.announcing(c.in.Name):
		return err
	case a.endpoint.URL == "":
	case due > c.in.NowMs && n.lastMs <= c.in.NowMs:
		if c.out.AlarmMs == 0 || due < c.out.AlarmMs {
			c.out.AlarmMs = due
		}
		return nil
	default:
		n.number, n.lastMs = n.number+1, c.in.NowMs
		a.pending = append(a.pending, c.announcement(n))
		c.sendDue(&a)
	}
	n.count, n.strongest = 0, StoredViolation{}
	c.put(rowViolations, c.v.encode())
	return nil
}

// announcementPrefix returns the prefix of the IDs of announcements.
func announcementPrefix(project string) string { return "evt_" + project + "_v" }

// announcing reports whether an announcement is unconfirmed.
func (a *alerts) announcing(project string) bool {
	for i := range a.pending {
		if strings.HasPrefix(a.pending[i].id, announcementPrefix(project)) {
			return true
		}
	}
	return false
}

// announcement creates the message. Its ID is the same in all retries.
func (c *call) announcement(n *announced) alert {
	id := announcementPrefix(c.in.Name) + strconv.FormatUint(n.number, 10)
	b := c.message("violation.created", id)
	b = strconv.AppendUint(append(b, `,"count":`...), n.count, 10)
	b = n.strongest.AppendJSON(append(b, `,"violation":`...))
	return alert{id: id, body: string(append(b, "}}"...)), createdMs: c.in.NowMs, dueMs: c.in.NowMs}
}

// message writes the start of an alert's body, up to the project's ID in "data". It is null for the deployment and for
// groups.
func (c *call) message(kind, id string) []byte {
	b := append([]byte(nil), `{"type":"`+kind+`","id":`...)
	b = jsontext.AppendString(b, id)
	b = calendar.AppendTimestamp(append(b, `,"timestamp":"`...), c.in.NowMs)
	b = append(b, `","data":{"projectId":`...)
	if doc.IsNode(c.in.Name) {
		return append(b, `null`...)
	}
	return jsontext.AppendString(b, c.in.Name)
}
