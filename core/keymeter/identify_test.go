package keymeter_test

import (
	"testing"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// Every existing key is identified, whatever its state, and nothing is written.
func TestIdentify(t *testing.T) {
	record := doc.Record{Version: 1, KeyID: "key_1", ProjectID: "proj_1", Plan: "wide"}
	known := keymeter.Identity{ProjectID: "proj_1", KeyID: "key_1"}
	for _, c := range []struct {
		name      string
		status    doc.Status // 0: there was no Put
		expiresMs uint64
		want      keymeter.Identity
	}{
		{"unknown", 0, 0, keymeter.Identity{}},
		{"active", doc.Active, 0, known},
		{"expired", doc.Active, start - 1, known},
		{"inactive", doc.Inactive, 0, known},
		{"removed", doc.Removed, 0, keymeter.Identity{}},
	} {
		k := newKey(t, doc.Record{})
		if c.status != 0 {
			record.ExpiresMs = c.expiresMs
			k.put(c.status, record)
		}
		before := len(k.Rows)
		command := keymeter.Identify{}
		reply, err := k.Call(k.now, command.Encode())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, err := keymeter.DecodeIdentity(reply); err != nil || got != c.want {
			t.Errorf("%s: %+v %v, want %+v", c.name, got, err, c.want)
		}
		if after := len(k.Rows); after != before {
			t.Errorf("%s: %d rows, before %d", c.name, after, before)
		}
		if _, err := k.Call(k.now, append(command.Encode(), 1)); err == nil {
			t.Errorf("%s: trailing bytes are accepted", c.name)
		}
	}
}
