package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// writeDirectory writes the documents, the audit log and the chains.
func (d *deployment) writeDirectory(f *file, projects []project) {
	var rows []abi.Row
	commit := func(at uint64, head []abi.Row, write directory.Write) []abi.Row {
		c := directory.Commit{Writes: []directory.Write{write}}
		out, err := directory.Apply(&abi.ObjectInput{NowMs: at, Class: abi.ClassDirectory, Name: directory.Name, Command: c.Encode(), Rows: head})
		check(err)
		rows = append(rows, out.Puts...)
		return out.Puts
	}
	for i := range d.groups {
		commit(d.now, nil, directory.Write{Key: doc.GroupKey(d.groups[i].ID), Value: d.groups[i].Encode()})
	}
	for i := range projects {
		p := &projects[i]
		commit(d.now, nil, directory.Write{Key: doc.ProjectKey(p.ID), Value: p.Encode()})
		for k := range p.keys {
			commit(d.now, nil, directory.Write{Key: doc.KeyKey(p.ID, p.keys[k].ID), Value: p.keys[k].Encode()})
		}
		var head []abi.Row
		for n := range p.audit {
			at := d.now - auditDays*dayMs + uint64(n)*auditDays*dayMs/uint64(p.audit) + uint64(i)
			puts := commit(at, head, d.auditEntry(p, n, at))
			head = puts[len(puts)-1:]
		}
	}
	slices.SortFunc(rows, func(a, b abi.Row) int { return strings.Compare(a.Key, b.Key) })
	f.object(directory.Name, "", rows)
}

// auditEntry returns the write of an entry about a key, as kernel.Plane.AuditWrite makes it.
func (d *deployment) auditEntry(p *project, n int, at uint64) directory.Write {
	k := &p.keys[n%len(p.keys)]
	action, id, address := "key.update", abi.Fixed(kernel.EndOfTimeMs-at)+fmt.Sprintf("%016x", d.random.Uint64()), "192.0.2.7"
	entry := kernel.AuditEntry{
		ID: kernel.AuditIDPrefix + id, Time: kernel.Timestamp(at), Actor: "operator@example.com", Role: kernel.Owner, Via: kernel.ViaBearer,
		Action: action, Project: &p.ID, Key: &k.ID, Address: &address,
	}
	value, err := kernel.Encode(struct {
		kernel.AuditEntry
		Before any `json:"before"`
		After  any `json:"after"`
	}{entry, change{n, k.Name}, change{n + 1, k.Name + " (renamed)"}})
	check(err)
	return directory.Write{Key: kernel.AuditPrefix + id, Value: value, Event: directory.Event{Project: p.ID, Kind: action}}
}

type change struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
}
