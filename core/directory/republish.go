package directory

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// A change to a project affects all of its keys. There may be ten thousand of them, which is more than one command
// can deliver to. A commit therefore only marks the project, and the alarm processes its keys in pages:
//
//	f/<project>    the last key that was processed; empty or justMoved at the start
//	g/<project>    after the last page: the outbox row with the last of these deliveries
//
// Each page is read together with the project, so its deliveries are consistent. A key that has changed since the
// commit gets two deliveries, and its meter keeps the newer version.
const (
	rowRepublish  = "f/"
	endRepublish  = "f0"
	rowLastQueued = "g/"
	republishPage = 50
)

// republishReads returns the row range of the first marked project.
func republishReads() []abi.Range {
	return []abi.Range{{Start: rowRepublish, End: endRepublish, Limit: 1}}
}

// republish makes the deliveries for the next page of keys. It requests the page in a second round, when the project
// is known.
func republish(in *abi.ObjectInput) (abi.ObjectOutput, error) {
	out := abi.ObjectOutput{Deliver: true}
	if len(in.Rows) == 0 {
		return out, nil
	}
	id, after := in.Rows[0].Key[len(rowRepublish):], string(in.Rows[0].Value)
	keys := doc.KeysOf(id)
	if in.Round == 0 {
		return abi.ObjectOutput{Ranges: []abi.Range{
			{Start: rowSeq}, {Start: rowDocument + doc.ProjectKey(id)},
			{Start: rowDocument + max(keys, after+"\x00"), End: rowDocument + keys + "\x7f", Limit: republishPage},
		}}, nil
	}
	p, found, last := decodeRepublishPage(in.Rows[1:])
	var deliveries []abi.Delivery
	if after == justMoved {
		deliveries = LimitsTo(p, in.NowMs)
		if p.Policy.Version != 0 {
			deliveries = append(deliveries, PolicyTo(p))
		}
	}
	for i := range found {
		deliveries = append(deliveries, StatusTo(&found[i], p), RecordTo(&found[i], p))
	}
	out.Puts = outbox(deliveries, versionOf(in.Rows, rowSeq))
	if last == "" {
		out.Deletes = append(out.Deletes, rowRepublish+id)
		seq := versionOf(in.Rows, rowSeq) + uint64(len(deliveries))
		out.Puts = append(out.Puts, abi.Row{Key: rowLastQueued + id, Value: []byte(abi.OutboxKey(seq))})
	} else {
		out.Puts = append(out.Puts, abi.Row{Key: rowRepublish + id, Value: []byte(last)})
	}
	out.AlarmMs = in.NowMs + 1 // for the next page, or the next project
	return out, nil
}

// decodeRepublishPage returns the project, the keys on the page, and the last key if there may be more keys. It skips
// malformed documents so that they do not block the other keys.
func decodeRepublishPage(rows []abi.Row) (p *Project, keys []Key, last string) {
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
		return p, nil, "" // without the project, there is nothing to deliver
	}
	if read < republishPage {
		last = ""
	}
	return p, keys, last
}
