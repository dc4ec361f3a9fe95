package directory

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// A change of a project concerns all its keys, of which there may be ten thousand: more than one command can
// deliver to. So a commit only notes the project, and the alarm goes through its keys, a page at a time:
//
//	f/<project>    the last key that was told; empty at the start
//
// Each page is read together with the project, so what is delivered is of one moment. A key that changed
// since the commit is told twice: its meter keeps the newer.
const (
	rowFan  = "f/"
	endFan  = "f0"
	fanPage = 50
)

// fanReads names the first of the projects to go through.
func fanReads() []abi.Range { return []abi.Range{{Start: rowFan, End: endFan, Limit: 1}} }

// republish tells the next page of keys. Its rows are asked for in a second round, when the project is known.
func republish(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	out := abi.ObjectOutput{Deliver: true}
	if len(in.Rows) == 0 {
		return out, nil
	}
	id, after := in.Rows[0].Key[len(rowFan):], string(in.Rows[0].Value)
	keys := doc.KeysOf(id)
	if in.Round == 0 {
		return abi.ObjectOutput{Ranges: []abi.Range{
			{Start: rowSeq}, {Start: rowDocument + doc.ProjectKey(id)},
			{Start: rowDocument + max(keys, after+"\x00"), End: rowDocument + keys + "\x7f", Limit: fanPage},
		}}, nil
	}
	p, found, last := fanPageOf(in.Rows[1:])
	var deliveries []abi.Delivery
	for i := range found {
		deliveries = append(deliveries, StatusTo(&found[i], p), RecordTo(&found[i], p))
	}
	out.Puts = outbox(deliveries, versionOf(in.Rows, rowSeq))
	if last == "" {
		out.Deletes = append(out.Deletes, rowFan+id)
	} else {
		out.Puts = append(out.Puts, abi.Row{Key: rowFan + id, Value: []byte(last)})
	}
	out.AlarmMs = in.NowMs + 1 // for the next page, or the next project
	return out, nil
}

// fanPageOf takes the project and its keys from what was read, and the last key if there may be more. What
// cannot be read is passed over: it must not keep the others from hearing.
func fanPageOf(rows []abi.Row) (p *Project, keys []Key, last string) {
	p = &Project{}
	read := 0
	for _, row := range rows {
		if row.Key == rowSeq {
			continue
		}
		d := documentOf(row)
		if d.Key[:2] == doc.ProjectKey("") {
			if found, err := DecodeProject(d); err == nil {
				p = &found
			}
			continue
		}
		read++
		last = d.Key
		if k, err := DecodeKey(d); err == nil {
			keys = append(keys, k)
		}
	}
	if p.ID == "" {
		return p, nil, "" // nobody can say what the keys are to hear
	}
	if read < fanPage {
		last = ""
	}
	return p, keys, last
}
