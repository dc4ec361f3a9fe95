package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// The times that the deployment covers.
const (
	dayMs     = 24 * 3600 * 1000
	auditDays = 390 // the oldest entries would be pruned after 400 days
	usageDays = 60  // twice the range of an overview of 30 days
)

// largeShare is the part of all keys and requests that the first project has. One of groupShare projects is in a group.
const (
	largeShare = 10
	groupShare = 5
	coldKeys   = 40
)

// project is a project with its keys. The first key of each project is never used.
type project struct {
	doc.Project
	keys     []doc.Key
	requests int
	audit    int // number of audit entries
}

// id returns an ID in the order of n, with the time of its creation.
func (d *deployment) id(prefix string, n int) string {
	return prefix + abi.Fixed(d.now-auditDays*dayMs+uint64(n)) + fmt.Sprintf("%016x", d.random.Uint64())
}

func (d *deployment) makeProjects() []project {
	groups := d.makeGroups()
	all := make([]project, d.Projects)
	for i := range all {
		p := &all[i]
		p.ID = d.id("proj_", i)
		p.Name, p.Plan, p.BudgetPico = fmt.Sprintf("Project %04d", i), "unlimited", int64(1000*money.Dollar)
		p.CacheTTLSeconds, p.CreatedMs = 3600, d.now-auditDays*dayMs+uint64(i)
		if i > 0 && i%groupShare == 0 {
			d.place(p, &groups[i/groupShare%len(groups)])
		}
		share := func(total int) int {
			if i == 0 {
				return total / largeShare
			}
			return total * (largeShare - 1) / largeShare / (d.Projects - 1)
		}
		p.requests, p.audit = share(d.Requests), share(d.AuditEntries)
		d.makeKeys(p, max(2, share(d.Keys)))
	}
	d.report.Large, d.report.Small, d.report.Last = all[0].ID, all[groupShare].ID, all[len(all)-1].ID
	d.report.LargeKey, d.report.LargeHash = all[0].keys[1].ID, all[0].keys[1].Hash
	d.report.Group = all[groupShare].Group
	return all
}

func (d *deployment) makeKeys(p *project, count int) {
	for i := range count {
		var random [keys.RandomBytes]byte
		binary.BigEndian.PutUint64(random[:], d.random.Uint64())
		value := keys.New(keys.Gateway, keys.Production, random)
		p.keys = append(p.keys, doc.Key{
			ID: d.id("key_", i), ProjectID: p.ID, Name: fmt.Sprintf("service %05d", i), Kind: keys.Gateway, Environment: keys.Production,
			Hash: keys.Hash(value), Last4: value[len(value)-4:], Status: doc.Active, CreatedMs: p.CreatedMs + uint64(i),
		})
		if i == 0 && p.Group == "" && len(d.report.Cold) < coldKeys {
			d.report.Cold = append(d.report.Cold, value)
		}
	}
	p.KeyCount = uint64(count)
}

// makeGroups returns groups whose budgets are counted, but do not stop requests.
func (d *deployment) makeGroups() []doc.Group {
	d.groups = make([]doc.Group, d.Groups)
	for i := range d.groups {
		d.groups[i] = doc.Group{
			ID: d.id(doc.GroupPrefix, i), Name: fmt.Sprintf("Team %03d", i), Parent: doc.Root, Budgeted: true, Soft: true,
			BudgetPico: int64(10_000 * money.Dollar), CreatedMs: d.now - auditDays*dayMs,
		}
	}
	return d.groups
}

func (d *deployment) place(p *project, g *doc.Group) {
	p.Group = g.ID
	p.SetAncestors([]doc.Ancestor{{ID: doc.Root}, {ID: g.ID}})
}

// put returns the command with which the control plane sets up the project's Ledger.
func (p *project) put(nowMs uint64) []byte {
	c := ledger.Put{Version: 1, BudgetPico: p.BudgetPico, Period: p.Period(nowMs / dayMs), Paths: p.Paths}
	return c.Encode()
}

func requestID(n uint64) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[8:], n)
	return "req_" + hex.EncodeToString(b[:])
}
