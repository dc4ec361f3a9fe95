package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Rows of the Ledger's chain of events:
//
//	ch/<number>    an event, the newest first
//	cd             the last closed day
const (
	rowsChain = chain.Rows("ch/")
	rowClosed = "cd"
	maxClosed = 200 // models that the event of a closed day lists individually

	// Kinds of events.
	usageClosed      = "usage.day"
	violationsChange = "violations.change"
)

// appendEvent appends an event to the project's chain, in the transaction of this command. The command's reads must
// include rowsChain.Head(). The payload is compact JSON.
func (c *call) appendEvent(kind string, payload []byte) error {
	head, err := rowsChain.Find(append(c.out.Puts, c.in.Rows...))
	if err != nil {
		return err
	}
	row := rowsChain.Append(chain.ID{Project: c.in.Name, Object: chain.Ledger}, head, c.in.NowMs, kind, payload)
	c.put(row.Key, row.Value)
	return nil
}

// addChange adds a change to a violation to this command's event.
func (c *call) addChange(kind string, violation []byte) {
	b := &c.changes
	if len(b.B) == 0 {
		b.Open('{')
		b.Key("changes")
		b.Open('[')
	}
	b.Open('{')
	b.Key("kind")
	b.String(kind)
	b.Member("violation", string(violation))
	b.Close('}')
}

// appendChanges appends this command's changes to violations as one event, so a batch of violations costs only one
// more row.
func (c *call) appendChanges() error {
	if len(c.changes.B) == 0 {
		return nil
	}
	c.changes.Close(']')
	c.changes.Close('}')
	return c.appendEvent(violationsChange, c.changes.B)
}

// events is the decoded form of Events.
type events struct{ chain.Page }

func (q *events) fields(f *abi.Fields) { q.Fields(f) }

func (q *events) reads() []abi.Range { return rowsChain.Reads(&q.Page) }

func (q *events) apply(c *call) (err error) {
	c.out.Reply, err = rowsChain.Reply(&q.Page, c.in.Rows)
	return err
}

// Events encodes the command that requests a page of the project's chain. The reply is a chain.PageReply.
func Events(p *chain.Page) []byte { return abi.EncodeFields(opEvents, 64, p.Fields) }

// forget is the decoded form of Forget.
type forget struct{ chain.Prune }

func (p *forget) fields(f *abi.Fields) { p.Fields(f) }

func (p *forget) reads() []abi.Range { return []abi.Range{rowsChain.Head()} }

func (p *forget) apply(c *call) (err error) {
	c.out, err = rowsChain.Prune(&p.Prune, c.in.Rows)
	return err
}

// Forget encodes the command that deletes the oldest entries of the project's chain. chain.DecodePruned decodes the
// reply.
func Forget(p *chain.Prune) []byte { return abi.EncodeFields(opForget, 64, p.Fields) }

// CloseDay is the command that appends the usage of a day as an event, unless the day was closed before. It also
// closes the days since the last closed one, at most maxMissedDays. A day without usage gets no event. The event does
// not include usage that is reported later. The reply is a chain.PageReply without entries.
type CloseDay struct{ Day uint64 }

const maxMissedDays = 7

// Encode encodes the command.
func (q *CloseDay) Encode() []byte { return abi.EncodeFields(opCloseDay, 16, q.fields) }

func (q *CloseDay) fields(f *abi.Fields) { f.Uint(&q.Day) }

func (q *CloseDay) reads() []abi.Range {
	first := q.Day - min(q.Day, maxMissedDays)
	return []abi.Range{
		rowsChain.Head(), {Start: rowClosed},
		{Start: rowModels + abi.Fixed(first), End: rowModels + abi.Fixed(q.Day+1), Limit: maxUsage},
	}
}

func (q *CloseDay) apply(c *call) error {
	closed := q.Day - 1
	if row, ok := c.row(rowClosed); ok {
		if err := abi.DecodeFields(row, func(f *abi.Fields) { f.Uint(&closed) }); err != nil {
			return err
		}
	}
	for day := max(closed+1, q.Day-min(q.Day, maxMissedDays)); day <= q.Day; day++ {
		if err := c.closeDay(day); err != nil {
			return err
		}
	}
	if q.Day > closed {
		c.put(rowClosed, abi.EncodeFields(0, 8, func(f *abi.Fields) { f.Uint(&q.Day) }))
	}
	var err error
	c.out.Reply, err = rowsChain.Reply(&chain.Page{}, append(c.out.Puts, c.in.Rows...))
	return err
}

func (c *call) closeDay(day uint64) error {
	var models []Usage
	for _, row := range c.in.Rows {
		if strings.HasPrefix(row.Key, rowModels+abi.Fixed(day)+"/") {
			u, err := decodeUsageRow(row.Value)
			if err != nil {
				return err
			}
			models = mergeByModel(models, u)
		}
	}
	if len(models) == 0 {
		return nil
	}
	return c.appendEvent(usageClosed, closedDay(day, models))
}

// closedDay returns the payload of a closed day: the total, and the totals of up to maxClosed models by name.
func closedDay(day uint64, models []Usage) []byte {
	var total Usage
	for i := range models {
		total.Plus(&models[i])
	}
	b := jsontext.Builder{}
	b.Open('{')
	b.Key("day")
	b.Text(jsontext.Escaped(calendar.AppendDate(nil, day)))
	b.Key("total")
	total.json(&b)
	b.Key("models")
	b.Open('[')
	for i := range models[:min(len(models), maxClosed)] {
		models[i].json(&b)
	}
	b.Close(']')
	b.Key("omittedModels")
	b.Uint(uint64(max(len(models), maxClosed) - maxClosed))
	b.Close('}')
	return b.B
}

// json writes the counters under their names in the usage API.
func (u *Usage) json(b *jsontext.Builder) {
	b.Open('{')
	if u.Model != "" {
		b.Key("model")
		b.String(u.Model)
	}
	names := [...]string{"requests", "hits", "misses", "failed", "promptTokens", "completionTokens", "estimated", "expired"}
	for i, n := range [...]uint64{u.Requests, u.Hits, u.Misses, u.Failed, u.Prompt, u.Completion, u.Estimated, u.Expired} {
		b.Key(names[i])
		b.Uint(n)
	}
	b.Key("cost")
	b.Raw(string(money.Append(nil, u.CostPico, money.Dollar)))
	b.Close('}')
}

// Announce is the command that sends a message to the project's alert endpoint, if there is one. The message is sent
// like an alert. The command has no reply. If a message with the same ID is still pending, it is not sent again.
type Announce struct {
	ID   string // of the webhook's message
	Type string // such as "compliance.checkpoint"
	Data []byte // a JSON object
}

// Encode encodes the command.
func (m *Announce) Encode() []byte { return abi.EncodeFields(opAnnounce, 64+len(m.Data), m.fields) }

func (m *Announce) fields(f *abi.Fields) {
	f.String(&m.ID)
	f.String(&m.Type)
	f.Bytes(&m.Data)
}

func (m *Announce) reads() []abi.Range { return []abi.Range{{Start: rowAlerts}} }

func (m *Announce) apply(c *call) error {
	a, err := c.alerts()
	if err != nil || a.endpoint.URL == "" {
		return err
	}
	for i := range a.pending {
		if a.pending[i].id == m.ID {
			return nil
		}
	}
	b := jsontext.Builder{}
	b.Open('{')
	b.Key("type")
	b.String(m.Type)
	b.Key("id")
	b.String(m.ID)
	b.Key("timestamp")
	b.Text(jsontext.Escaped(calendar.AppendTimestamp(nil, c.in.NowMs)))
	b.Member("data", string(m.Data))
	b.Close('}')
	a.pending = append(a.pending, alert{id: m.ID, body: string(b.B), createdMs: c.in.NowMs, dueMs: c.in.NowMs})
	c.sendDue(&a)
	return nil
}
