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
