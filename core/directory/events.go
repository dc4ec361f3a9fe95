package directory

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
)

// The rows of a project's chain have the prefix ch/<project>/.
func rowsOf(project string) chain.Rows { return chain.Rows("ch/" + project + "/") }

// Event makes a write an event in a project's chain. The written value is the event's payload. The chain gets the
// event in the same transaction as the write, so neither exists without the other.
type Event struct {
	Project string // empty: no event
	Kind    string
}

// writeEvents appends the events of writes to an encoded commit. It appends nothing if there are no events.
func writeEvents(w *abi.Writer, writes []Write) {
	for i := range writes {
		if e := &writes[i].Event; e.Project != "" {
			w.Uint(uint64(i))
			w.String(e.Project)
			w.String(e.Kind)
		}
	}
}

func readEvents(r *abi.Reader, writes []Write) {
	for r.Err() == nil && len(r.Buf) > 0 {
		i, e := r.Uint(), Event{r.String(), r.String()}
		if i < uint64(len(writes)) {
			writes[i].Event = e
		}
	}
}

// chainHeads returns the row range of the newest entry in each chain that the writes append to.
func chainHeads(writes []Write) (ranges []abi.Range) {
	for i := range writes {
		if project := writes[i].Event.Project; project != "" {
			ranges = append(ranges, rowsOf(project).Head())
		}
	}
	return ranges
}

// appendEvents returns the rows for the writes' events.
func appendEvents(writes []Write, in *abi.ObjectInput) (puts []abi.Row, err error) {
	for i := range writes {
		e := &writes[i].Event
		if e.Project == "" || len(writes[i].Value) == 0 {
			continue
		}
		rows := rowsOf(e.Project)
		head, err := rows.Find(append(puts, in.Rows...))
		if err != nil {
			return nil, err
		}
		id := chain.ID{Project: e.Project, Object: chain.Directory}
		puts = append(puts, rows.Append(id, head, in.NowMs, e.Kind, writes[i].Value))
	}
	return puts, nil
}

// Events encodes the command that requests a page of a project's chain. The reply is a chain.PageReply.
func Events(p *chain.Page) []byte { return abi.EncodeFields(opEvents, 64, p.Fields) }

// Forget encodes the command that deletes the oldest entries of a project's chain. chain.DecodePruned decodes the reply.
func Forget(p *chain.Prune) []byte { return abi.EncodeFields(opForget, 64, p.Fields) }

func decodeChain(command []byte) (op uint64, page chain.Page, prune chain.Prune, err error) {
	r := abi.Reader{Buf: command}
	if op = r.Uint(); op == opEvents {
		page.Fields(abi.ReadFrom(&r))
	} else {
		prune.Fields(abi.ReadFrom(&r))
	}
	return op, page, prune, r.End()
}

func chainReads(command []byte) ([]abi.Range, error) {
	op, page, prune, err := decodeChain(command)
	if op == opForget {
		return []abi.Range{rowsOf(prune.Project).Head()}, err
	}
	return rowsOf(page.Project).Reads(&page), err
}

func applyChain(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	op, page, prune, err := decodeChain(in.Command)
	if err != nil {
		return out, err
	}
	if op == opForget {
		return rowsOf(prune.Project).Prune(&prune, in.Rows)
	}
	out.Reply, err = rowsOf(page.Project).Reply(&page, in.Rows)
	return out, err
}
