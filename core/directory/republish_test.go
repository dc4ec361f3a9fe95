package directory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/internal/testobject"
)

// register is a Directory with projects and keys.
type register struct {
	*testing.T
	*testobject.Object
	now uint64
}

func newRegister(t *testing.T) *register {
	reads := func(in *abi.ObjectInput) ([]abi.Range, error) { return directory.Reads(in.Command) }
	return &register{T: t, now: 1000, Object: &testobject.Object{Class: abi.ClassDirectory, Name: directory.Name, Reads: reads, Apply: directory.Apply}}
}

func (r *register) commit(c directory.Commit) (conflict string) {
	r.Helper()
	reply, err := r.Call(r.now, c.Encode())
	if err != nil {
		r.Fatal(err)
	}
	if conflict, err = directory.DecodeConflict(reply); err != nil {
		r.Fatal(err)
	}
	return conflict
}

// project writes a project with n keys, named by their number.
func (r *register) project(id string, n int) {
	r.Helper()
	p := doc.Project{ID: id, Plan: "free"}
	writes := []directory.Write{{Key: doc.ProjectKey(id), Value: p.Encode()}}
	for i := range n {
		k := doc.Key{ID: fmt.Sprintf("key_%04d", i), ProjectID: id, Hash: fmt.Sprintf("%s-%04d", id, i), Status: doc.Active}
		writes = append(writes, directory.Write{Key: doc.KeyKey(id, k.ID), Value: k.Encode()})
	}
	for batch := range slices.Chunk(writes, directory.MaxWrites) {
		if conflict := r.commit(directory.Commit{Writes: batch}); conflict != "" {
			r.Fatal(conflict)
		}
	}
}

// change gives a project another plan, and has its keys told.
func (r *register) change(id, plan string, version uint64) {
	r.Helper()
	p := doc.Project{ID: id, Plan: plan}
	c := directory.Commit{Writes: []directory.Write{{Key: doc.ProjectKey(id), Version: version, Value: p.Encode()}}, Republish: id}
	if conflict := r.commit(c); conflict != "" {
		r.Fatal(conflict)
	}
}

// ring rings the alarm once, if it is due a moment later.
func (r *register) ring() bool {
	r.Helper()
	r.now++
	rang, err := r.Ring(r.now)
	if err != nil {
		r.Fatal(err)
	}
	return rang
}

// told is what stands in the outbox: the meters' names in order, and the records' plans and versions.
func (r *register) told() (meters []string, records []doc.Record) {
	r.Helper()
	keys, deliveries, err := r.Outbox()
	if err != nil {
		r.Fatal(err)
	}
	r.Delete(keys...)
	for i, d := range deliveries {
		if i%2 == 0 {
			if d.Class != abi.ClassKeyMeter {
				r.Fatalf("delivery %d is for class %d", i, d.Class)
			}
			meters = append(meters, d.Name)
			continue
		}
		record, err := doc.DecodeRecord(d.Data)
		if err != nil || d.Class != abi.ClassKV || d.Name != doc.RecordKey(meters[len(meters)-1]) {
			r.Fatalf("%v %+v", err, d)
		}
		records = append(records, record)
	}
	return meters, records
}

func names(id string, from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("%s-%04d", id, i))
	}
	return list
}

// Keys are told in pages, each once, however many there are: none, a page's worth, one more or one less.
func TestRepublishPages(t *testing.T) {
	for _, n := range []int{0, 1, 49, 50, 51, 100, 101} {
		r := newRegister(t)
		r.project("proj_a", n)
		r.project("proj_ab", 3) // its keys come right after, and are not meant
		r.change("proj_a", "team", 1)
		if meters, _ := r.told(); meters != nil {
			t.Errorf("the commit itself told %q", meters)
		}
		pages := 0
		for ; r.ring(); pages++ {
			if pages > 10 {
				t.Fatal("the alarm never ends")
			}
			if keys, _, _ := r.Outbox(); len(keys) > 2*50*(pages+1) {
				t.Errorf("%d deliveries after %d pages", len(keys), pages+1)
			}
		}
		meters, records := r.told()
		if !slices.Equal(meters, names("proj_a", 0, n)) {
			t.Errorf("%d keys: told %q", n, meters)
		}
		for _, record := range records {
			if record.Plan != "team" || record.Version != 3 {
				t.Errorf("%+v", record)
			}
		}
		for key := range r.Rows {
			if key[:2] == "f/" {
				t.Errorf("%s is left", key)
			}
		}
	}
}

// A second change begins from the first key again; what was told of the first is told anew.
func TestAChangeDuringRepublishing(t *testing.T) {
	r := newRegister(t)
	r.project("proj_a", 120)
	r.change("proj_a", "team", 1)
	r.ring()
	if meters, records := r.told(); !slices.Equal(meters, names("proj_a", 0, 50)) || records[0].Plan != "team" {
		t.Errorf("first %q", meters)
	}
	r.change("proj_a", "free", 2)
	for r.ring() {
	}
	meters, records := r.told()
	if !slices.Equal(meters, names("proj_a", 0, 120)) {
		t.Errorf("then %d: %q", len(meters), meters)
	}
	for _, record := range records {
		if record.Plan != "free" || record.Version != 4 {
			t.Errorf("%+v", record)
		}
	}
}

// Several projects are gone through one after the other, and a page says what stands when it is told.
func TestRepublishingManyProjects(t *testing.T) {
	r := newRegister(t)
	var want []string
	for i := range 5 {
		id := fmt.Sprint("proj_", i)
		r.project(id, 60)
		want = append(want, names(id, 0, 60)...)
	}
	for i := range 5 {
		r.change(fmt.Sprint("proj_", 4-i), "team", 1)
	}
	r.ring()
	k := doc.Key{ID: "key_0055", ProjectID: "proj_0", Hash: "proj_0-0055", Status: doc.Inactive}
	p := doc.Project{ID: "proj_0", Plan: "team"}
	r.commit(directory.Commit{Writes: []directory.Write{
		{Key: doc.KeyKey("proj_0", k.ID), Version: 1, Value: k.Encode()}, {Key: doc.ProjectKey("proj_0"), Version: 2, Value: p.Encode()},
	}})
	for r.ring() {
	}
	meters, records := r.told()
	if !slices.Equal(meters, want) {
		t.Errorf("%d told, want %d", len(meters), len(want))
	}
	if records[0].Version != 3 || records[54].Version != 4 || records[55].Version != 5 {
		t.Errorf("versions %d %d %d", records[0].Version, records[54].Version, records[55].Version)
	}
}

// A commit that does not hold has nobody told.
func TestAConflictRepublishesNothing(t *testing.T) {
	r := newRegister(t)
	r.project("proj_a", 3)
	p := doc.Project{ID: "proj_a"}
	conflict := r.commit(directory.Commit{Writes: []directory.Write{{Key: doc.ProjectKey("proj_a"), Version: 9, Value: p.Encode()}}, Republish: "proj_a"})
	if conflict != doc.ProjectKey("proj_a") || r.AlarmMs != 0 {
		t.Errorf("%q, alarm %d", conflict, r.AlarmMs)
	}
}

// The outbox stays in the order of the commits, pages between them included.
func TestRepublishedPagesGoBehindWhatWaits(t *testing.T) {
	r := newRegister(t)
	r.project("proj_a", 2)
	waiting := abi.Delivery{Class: abi.ClassKV, Name: "first", Data: []byte{1}}
	r.commit(directory.Commit{Deliveries: []abi.Delivery{waiting}})
	r.change("proj_a", "team", 1)
	for r.ring() {
	}
	waiting.Name = "last"
	r.commit(directory.Commit{Deliveries: []abi.Delivery{waiting}})
	_, deliveries, err := r.Outbox()
	if err != nil || len(deliveries) != 6 || deliveries[0].Name != "first" || deliveries[1].Name != "proj_a-0000" || deliveries[5].Name != "last" {
		t.Errorf("%v %+v", err, deliveries)
	}
}
