package ledger

import (
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
	rowsChain   = chain.Rows("ch/")
	rowClosed   = "cd"
	usageClosed = "usage.day" // kind of the event of a closed day
	maxClosed   = 200         // models that one such event lists
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

// CloseDay is the command that appends the usage of a day as an event, unless it or a later day was closed before or
// it had no usage. Usage that is reported later is not part of the event. The reply is empty.
type CloseDay struct{ Day uint64 }

// Encode encodes the command.
func (q *CloseDay) Encode() []byte { return abi.EncodeFields(opCloseDay, 16, q.fields) }

func (q *CloseDay) fields(f *abi.Fields) { f.Uint(&q.Day) }

func (q *CloseDay) reads() []abi.Range {
	return []abi.Range{
		rowsChain.Head(), {Start: rowClosed},
		{Start: rowModels + abi.Fixed(q.Day), End: rowModels + abi.Fixed(q.Day+1), Limit: maxUsage},
	}
}

func (q *CloseDay) apply(c *call) error {
	var closed uint64
	if row, ok := c.row(rowClosed); ok {
		if err := abi.DecodeFields(row, func(f *abi.Fields) { f.Uint(&closed) }); err != nil {
			return err
		}
	}
	if q.Day <= closed {
		return nil
	}
	models, err := c.usageByModel()
	if err != nil || len(models) == 0 {
		return err
	}
	c.put(rowClosed, abi.EncodeFields(0, 8, func(f *abi.Fields) { f.Uint(&q.Day) }))
	return c.appendEvent(usageClosed, closedDay(q.Day, models))
}

// closedDay is the payload of a closed day: its sum, and the sums of up to maxClosed models by name.
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

// json writes counters as the usage API names them.
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
