package directory

import "github.com/postern-ai/postern/core/abi"

// Progress encodes the command that asks whether a project's last change with Commit.Republish has reached all of its
// keys. DecodeProgress decodes the reply.
func Progress(projectID string) []byte {
	var w abi.Writer
	w.Uint(opProgress)
	w.String(projectID)
	return w.Buf
}

// DecodeProgress decodes the reply to Progress. done is false while keys or deliveries are left.
func DecodeProgress(data []byte) (done bool, err error) {
	r := abi.Reader{Buf: data}
	done = r.Uint() == 1
	return done, r.End()
}

// progressReads returns the row ranges of the project's mark, its last delivery, and the oldest delivery not made
// yet.
func progressReads(projectID string) []abi.Range {
	return []abi.Range{
		{Start: rowRepublish + projectID}, {Start: rowLastQueued + projectID},
		{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1},
	}
}

// progress compares the project's last delivery with the oldest one in the outbox, because deliveries are made in
// order.
func progress(rows []abi.Row) abi.ObjectOutput {
	done, last, oldest := byte(1), "", ""
	for _, row := range rows {
		switch row.Key[:2] {
		case rowRepublish:
			done = 0
		case rowLastQueued:
			last = string(row.Value)
		default:
			oldest = row.Key
		}
	}
	if oldest != "" && oldest <= last {
		done = 0
	}
	return abi.ObjectOutput{Reply: []byte{done}}
}

// MaxUnpublished is the maximum number of projects in one command of Unpublished.
const MaxUnpublished = 400

// Unpublished encodes the command that asks which of these projects, at most MaxUnpublished, would get an unfinished
// reply to Progress. DecodeUnpublished decodes the reply.
func Unpublished(projectIDs []string) []byte {
	var w abi.Writer
	w.Uint(opUnpublished)
	w.Uint(uint64(len(projectIDs)))
	for _, id := range projectIDs {
		w.String(id)
	}
	return w.Buf
}

// DecodeUnpublished decodes the reply to Unpublished: the projects of which keys or deliveries are left.
func DecodeUnpublished(data []byte) (ids []string, err error) {
	r := abi.Reader{Buf: data}
	for n := r.Count(); n > 0; n-- {
		ids = append(ids, r.String())
	}
	return ids, r.End()
}

func unpublishedReads(r *abi.Reader) ([]abi.Range, error) {
	n := r.Count()
	if n > MaxUnpublished {
		return nil, abi.ErrMalformed
	}
	ranges := []abi.Range{{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: 1}}
	for ; n > 0; n-- {
		id := r.String()
		ranges = append(ranges, abi.Range{Start: rowRepublish + id}, abi.Range{Start: rowLastQueued + id})
	}
	return ranges, r.End()
}

// unpublished lists a project if it is marked, or if its last delivery is not older than the oldest in the outbox.
func unpublished(rows []abi.Row) abi.ObjectOutput {
	var ids []string
	oldest := ""
	for _, row := range rows {
		switch id := row.Key[2:]; row.Key[:2] {
		case rowRepublish:
			ids = append(ids, id)
		case rowLastQueued:
			marked := len(ids) > 0 && ids[len(ids)-1] == id
			if oldest != "" && oldest <= string(row.Value) && !marked {
				ids = append(ids, id)
			}
		default:
			oldest = row.Key
		}
	}
	var w abi.Writer
	w.Uint(uint64(len(ids)))
	for _, id := range ids {
		w.String(id)
	}
	return abi.ObjectOutput{Reply: w.Buf}
}
