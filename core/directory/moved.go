package directory

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
)

// justMoved is the value of a project's rowRepublish row if KV has none of the project's values yet, not even its
// policy. It sorts before all keys.
const justMoved = "+"

// RepublishLoaded marks all projects among the rows that a command writes. It is for documents that come from another
// deployment.
func RepublishLoaded(out *abi.ObjectOutput) {
	for _, row := range out.Puts {
		if id, ok := strings.CutPrefix(row.Key, rowDocument+doc.ProjectKey("")); ok {
			out.Puts = append(out.Puts, abi.Row{Key: rowRepublish + id, Value: []byte(justMoved)})
		}
	}
}

// MovedDocument decodes a row for package move if the row is a document.
func MovedDocument(row abi.Row) (d Document, ok bool, err error) {
	if !strings.HasPrefix(row.Key, rowDocument) {
		return d, false, nil
	}
	r := abi.Reader{Buf: row.Value}
	d = Document{row.Key[len(rowDocument):], r.Uint(), r.Bytes()}
	if r.End() != nil || d.Version == 0 || len(d.Value) == 0 {
		err = abi.ErrMalformed
	}
	return d, true, err
}

// MovedChain returns the project of a row in a chain of events.
func MovedChain(row abi.Row) (project string, ok bool) {
	rest, ok := strings.CutPrefix(row.Key, "ch/")
	project, _, found := strings.Cut(rest, "/")
	return project, ok && found
}

// MovePending reports whether a row is work that the Directory still has to do: a delivery, or a project whose keys
// have to be published.
func MovePending(row abi.Row) bool {
	return strings.HasPrefix(row.Key, abi.OutboxPrefix) || strings.HasPrefix(row.Key, rowRepublish)
}
