package main

import (
	"cmp"
	"slices"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/object"
)

// name is the name of an object.
type name struct {
	class abi.Class
	name  string
}

// objects are meters and ledgers in memory.
type objects struct {
	reducer object.Reducer
	all     map[name]*object.Memory
	now     uint64 // Unix milliseconds
}

func newObjects() *objects {
	var w abi.Writer
	(&abi.Config{Catalog: catalog.Default}).Encode(&w)
	c, _ := core.Configure(w.Buf)
	return &objects{reducer: object.Reducer{Reads: c.Ranges, Apply: c.Run}, all: map[name]*object.Memory{}}
}

func (o *objects) of(class abi.Class, of string) *object.Memory {
	id := name{class, of}
	if o.all[id] == nil {
		o.all[id] = &object.Memory{}
	}
	return o.all[id]
}

// call runs a command and delivers the object's outbox.
func (o *objects) call(class abi.Class, of string, command []byte) []byte {
	m := o.of(class, of)
	out, err := o.reducer.Run(m, abi.ObjectInput{NowMs: o.now, Class: class, Name: of, Command: command})
	check(err)
	for {
		key, d, err := object.NextDelivery(m)
		if check(err); key == "" {
			return out.Reply
		}
		o.call(d.Class, d.Name, d.Data)
		check(m.Commit(nil, []string{key}, 0))
	}
}

// take returns the object's rows, in order, and forgets the object.
func (o *objects) take(class abi.Class, of string) (rows []abi.Row) {
	rows, err := o.of(class, of).Read(abi.Range{Start: " ", End: "\x7f", Limit: 1 << 30})
	check(err)
	delete(o.all, name{class, of})
	return slices.DeleteFunc(rows, ledger.MovesNot)
}

// stored is an object to write.
type stored struct {
	name, project string
	rows          []abi.Row
}

// writeObjects writes the ledgers and the meters.
func (d *deployment) writeObjects(f *file, projects []project) {
	o := newObjects()
	var ledgers, meters []stored
	for i := range d.groups {
		o.now = d.now
		put := ledger.Put{Version: 1, Period: d.groups[i].Period(d.now / dayMs)}
		o.call(abi.ClassLedger, d.groups[i].ID, put.Encode())
	}
	for i := range projects {
		p := &projects[i]
		d.traffic(o, p, i)
		ledgers = append(ledgers, stored{"ledger/" + p.ID, p.ID, o.take(abi.ClassLedger, p.ID)})
		for k := range p.keys {
			hash := p.keys[k].Hash
			meters = append(meters, stored{"meter/" + hash, p.ID, o.take(abi.ClassKeyMeter, hash)})
		}
	}
	for id := range o.all { // of the groups and of the deployment
		ledgers = append(ledgers, stored{"ledger/" + id.name, "", o.take(id.class, id.name)})
	}
	for _, list := range [][]stored{ledgers, meters} {
		slices.SortFunc(list, func(a, b stored) int { return cmp.Compare(a.name, b.name) })
		for _, s := range list {
			f.object(s.name, s.project, s.rows)
		}
	}
}

// create creates the meter of a key.
func (p *project) create(o *objects, k *doc.Key) {
	put := keymeter.Put{Status: doc.Active, Record: doc.NewRecord(k, 1, &p.Project, 1)}
	o.call(abi.ClassKeyMeter, k.Hash, put.Encode())
}
