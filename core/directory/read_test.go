package directory_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// Read returns exactly the named documents that exist. It returns no document whose key merely begins with a named
// key.
func TestRead(t *testing.T) {
	r := newTestDirectory(t)
	for _, id := range []string{"proj_a", "proj_ab", "proj_b"} {
		r.project(id, 1)
	}
	for _, c := range []struct{ keys, want []string }{
		{nil, nil},
		{[]string{"proj_b", "proj_a"}, []string{"proj_a", "proj_b"}},
		{[]string{"proj_a", "proj_none", ""}, []string{"proj_a"}},
	} {
		var command directory.Read
		for _, id := range c.keys {
			command.Keys = append(command.Keys, doc.ProjectKey(id))
		}
		reply, err := r.Call(r.now, command.Encode())
		if err != nil {
			t.Fatal(err)
		}
		docs, err := directory.DecodeDocuments(reply)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, d := range docs {
			p, err := directory.DecodeProject(d)
			if err != nil || d.Version == 0 {
				t.Fatal(d.Key, d.Version, err)
			}
			got[p.ID] = true
		}
		if len(got) != len(c.want) {
			t.Errorf("%q: %v", c.keys, got)
		}
		for _, id := range c.want {
			if !got[id] {
				t.Errorf("%q: no %s", c.keys, id)
			}
		}
	}
}

func TestReadBounds(t *testing.T) {
	r := newTestDirectory(t)
	var command directory.Read
	for i := range 1001 {
		command.Keys = append(command.Keys, fmt.Sprint("p/proj_", i))
	}
	whole := command.Encode()
	if _, err := r.Call(r.now, whole); err == nil {
		t.Error("1,001 documents are read at once")
	}
	command.Keys = command.Keys[:1000]
	if _, err := r.Call(r.now, command.Encode()); err != nil {
		t.Error(err)
	}
	for _, malformed := range [][]byte{whole[:len(whole)-1], append(command.Encode(), 0)} {
		if _, err := r.Call(r.now, malformed); err == nil {
			t.Errorf("%d bytes are accepted", len(malformed))
		}
	}
}
