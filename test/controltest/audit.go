package controltest

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
)

// AuditLog is the path of the audit log.
const AuditLog = "/api/admin/audit"

// Audit writes an audit entry in the way an endpoint does.
func (b *Bench) Audit(actor kernel.Identity, action, project, key string, before, after any) directory.Write {
	b.Helper()
	r := NewRequest("X-Postern-Address", "2001:db8::7")
	write, err := kernel.NewPlane(b.Config).AuditWrite(&kernel.Call{Context: b.Context(), Request: r, Action: action, Actor: actor}, project, key, before, after)
	if err != nil {
		b.Fatal(err)
	}
	b.Commit(write)
	return write
}

// Entries reads a page of the log.
func (b *Bench) Entries(query string) (entries []map[string]any, next string) {
	b.Helper()
	got := b.Must(200, "GET", AuditLog+query, "")
	for _, e := range got.Fields["entries"].([]any) {
		entries = append(entries, e.(map[string]any))
	}
	return entries, got.Text("next")
}

// Boss is an owner authenticated by Cloudflare Access.
var Boss = kernel.Identity{Name: "boss@example.com", Role: kernel.Owner, Via: kernel.ViaAccess}
