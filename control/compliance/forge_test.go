package compliance_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/chain"
)

// forge changes an export in the way that an attacker with write access to the storage could: it changes payloads,
// recomputes all hashes, and removes the checkpoints.
func (e *evidence) forge(export string) string {
	e.Helper()
	id := chain.ID{Project: e.id, Object: chain.Directory}
	var head *chain.Entry
	var out []string
	for _, line := range strings.Split(strings.TrimSuffix(export, "\n"), "\n") {
		var event compliance.Event
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			e.Fatal(err)
		}
		if event.Record != compliance.EventRecord {
			out = append(out, line)
			continue
		}
		at, err := time.Parse(time.RFC3339, event.Time)
		if err != nil {
			e.Fatal(err)
		}
		entry := chain.Append(id, head, uint64(at.UnixMilli()), event.Kind, []byte(strings.ReplaceAll(string(event.Payload), `"owner"`, `"nobody"`)))
		out = append(out, string(compliance.AppendEvent(nil, &entry, event.Time, true)))
		head = &entry
	}
	return e.withoutCheckpoints(strings.Join(out, "\n") + "\n")
}

// withoutCheckpoints removes the checkpoints and the signature from an export that has one page.
func (e *evidence) withoutCheckpoints(export string) string {
	e.Helper()
	first, rest, _ := strings.Cut(strings.TrimSuffix(export, "\n"), "\n")
	var header compliance.Header
	if err := json.Unmarshal([]byte(first), &header); err != nil {
		e.Fatal(err)
	}
	header.Checkpoints = []compliance.Checkpoint{}
	page, err := compliance.Page(&header, bytes.Split([]byte(rest), []byte("\n")), nil)
	if err != nil {
		e.Fatal(err)
	}
	return string(page)
}
