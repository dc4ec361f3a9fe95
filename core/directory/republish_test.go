package directory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/test/testobject"
)

type testDirectory struct {
	*testing.T
	*testobject.Object
	now uint64
}

func newTestDirectory(t *testing.T) *testDirectory {
	reads := func(in *abi.ObjectInput) ([]abi.Range, error) { return directory.Reads(in.Command) }
	return &testDirectory{T: t, now: 1000, Object: &testobject.Object{Class: abi.ClassDirectory, Name: directory.Name, Reads: reads, Apply: directory.Apply}}
}

func (r *testDirectory) commit(c directory.Commit) (conflict string) {
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

// project writes a project with n keys, which are named by number.
func (r *testDirectory) project(id string, n int) {
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

// change moves a project to another plan and republishes it to its keys.
func (r *testDirectory) change(id, plan string, version uint64) {
	r.Helper()
	p := doc.Project{ID: id, Plan: plan}
	c := directory.Commit{Writes: []directory.Write{{Key: doc.ProjectKey(id), Version: version, Value: p.Encode()}}, Republish: []string{id}}
	if conflict := r.commit(c); conflict != "" {
		r.Fatal(conflict)
	}
}

// ring triggers the alarm once if it is due within a millisecond.
func (r *testDirectory) ring() bool {
	r.Helper()
	r.now++
	rang, err := r.Ring(r.now)
	if err != nil {
		r.Fatal(err)
	}
	return rang
}

// delivered empties the outbox. It returns the meters' names in order and the records published in KV.
func (r *testDirectory) delivered() (meters []string, records []doc.Record) {
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

// Keys are processed in pages, and each key is processed once. The cases are no keys, a full page, and one key more
// or less than a full page.
func TestRepublishPages(t *testing.T) {
	for _, n := range []int{0, 1, 49, 50, 51, 100, 101} {
		r := newTestDirectory(t)
		r.project("proj_a", n)
		r.project("proj_ab", 3) // its keys sort right after proj_a's keys but are not affected
		r.change("proj_a", "team", 1)
		if meters, _ := r.delivered(); meters != nil {
			t.Errorf("the commit itself made deliveries to %q", meters)
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
		meters, records := r.delivered()
		if !slices.Equal(meters, names("proj_a", 0, n)) {
			t.Errorf("%d keys: deliveries to %q", n, meters)
		}
		for _, record := range records {
			if record.Plan != "team" || record.Version != 3 {
				t.Errorf("%+v", record)
			}
		}
		for key := range r.Rows {
			if key[:2] == "f/" {
				t.Errorf("%s remains", key)
			}
		}
	}
}

// A second change restarts from the first key, so keys already processed get a second delivery.
func TestChangeDuringRepublish(t *testing.T) {
	r := newTestDirectory(t)
	r.project("proj_a", 120)
	r.change("proj_a", "team", 1)
	r.ring()
	if meters, records := r.delivered(); !slices.Equal(meters, names("proj_a", 0, 50)) || records[0].Plan != "team" {
		t.Errorf("first deliveries: %q", meters)
	}
	r.change("proj_a", "free", 2)
	for r.ring() {
	}
	meters, records := r.delivered()
	if !slices.Equal(meters, names("proj_a", 0, 120)) {
		t.Errorf("then %d deliveries: %q", len(meters), meters)
	}
	for _, record := range records {
		if record.Plan != "free" || record.Version != 4 {
			t.Errorf("%+v", record)
		}
	}
}

// Projects are processed one after another, and each page delivers the state at the time when it is read.
func TestRepublishManyProjects(t *testing.T) {
	r := newTestDirectory(t)
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
	meters, records := r.delivered()
	if !slices.Equal(meters, want) {
		t.Errorf("%d deliveries, want %d", len(meters), len(want))
	}
	if records[0].Version != 3 || records[54].Version != 4 || records[55].Version != 5 {
		t.Errorf("versions %d %d %d", records[0].Version, records[54].Version, records[55].Version)
	}
}

// A commit with a conflict delivers nothing.
func TestConflictRepublishesNothing(t *testing.T) {
	r := newTestDirectory(t)
	r.project("proj_a", 3)
	p := doc.Project{ID: "proj_a"}
	conflict := r.commit(directory.Commit{Writes: []directory.Write{{Key: doc.ProjectKey("proj_a"), Version: 9, Value: p.Encode()}}, Republish: []string{"proj_a"}})
	if conflict != doc.ProjectKey("proj_a") || r.AlarmMs != 0 {
		t.Errorf("%q, alarm %d", conflict, r.AlarmMs)
	}
}

// The outbox keeps the order of the commits and of the pages between them.
func TestRepublishAppendsToOutbox(t *testing.T) {
	r := newTestDirectory(t)
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
