package directory_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

func (r *testDirectory) progress(id string) bool {
	r.Helper()
	reply, err := r.Call(r.now, directory.Progress(id))
	if err != nil {
		r.Fatal(err)
	}
	done, err := directory.DecodeProgress(reply)
	if err != nil {
		r.Fatal(err)
	}
	if left := r.unpublished("proj_none", id, "proj_none2"); (len(left) == 0) != done || !done && !slices.Equal(left, []string{id}) {
		r.Errorf("%s: done is %v, but %q are unpublished", id, done, left)
	}
	return done
}

func (r *testDirectory) unpublished(ids ...string) []string {
	r.Helper()
	reply, err := r.Call(r.now, directory.Unpublished(ids))
	if err != nil {
		r.Fatal(err)
	}
	left, err := directory.DecodeUnpublished(reply)
	if err != nil {
		r.Fatal(err)
	}
	return left
}

// One commit marks several projects, each of which is then published.
func TestRepublishProjectsOfOneCommit(t *testing.T) {
	r := newTestDirectory(t)
	commit := directory.Commit{Republish: []string{"proj_a", "proj_b", "proj_c"}}
	for _, id := range commit.Republish {
		r.project(id, 2)
		p := doc.Project{ID: id, Plan: "team"}
		commit.Writes = append(commit.Writes, directory.Write{Key: doc.ProjectKey(id), Version: 1, Value: p.Encode()})
	}
	if conflict := r.commit(commit); conflict != "" {
		t.Fatal(conflict)
	}
	if left := r.unpublished(append(commit.Republish, "proj_d")...); !slices.Equal(left, commit.Republish) {
		t.Errorf("after the commit: %q", left)
	}
	for r.ring() {
	}
	if meters, records := r.delivered(); len(meters) != 6 || len(records) != 6 {
		t.Errorf("delivered to %q and %d records, want a status and a record for each key", meters, len(records))
	}
	if left := r.unpublished(commit.Republish...); len(left) > 0 {
		t.Errorf("after the deliveries: %q", left)
	}
	if _, err := r.Call(r.now, directory.Unpublished(make([]string, directory.MaxUnpublished+1))); err == nil {
		t.Error("too many projects are accepted")
	}
}

// A change is done when its last delivery has left the outbox, regardless of other projects' pending deliveries.
func TestProgress(t *testing.T) {
	for _, n := range []int{0, 1, 50, 120} {
		r := newTestDirectory(t)
		r.project("proj_a", n)
		r.project("proj_ab", 60)
		if !r.progress("proj_a") || !r.progress("proj_new") {
			t.Fatal("a project without a change is not done")
		}
		r.change("proj_a", "team", 1)
		if r.progress("proj_a") || !r.progress("proj_ab") {
			t.Errorf("%d keys: done right after the commit, or the other project is not", n)
		}
		for range n/50 + 1 {
			if r.progress("proj_a") {
				t.Fatalf("%d keys: done before the last page", n)
			}
			r.ring()
		}
		r.change("proj_ab", "team", 1) // queued behind
		for r.ring() {
		}
		keys, _, err := r.Outbox()
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range keys {
			if done := i >= 2*n; r.progress("proj_a") != done {
				t.Fatalf("%d keys: after %d deliveries, done is %v", n, i, !done)
			}
			if r.progress("proj_ab") {
				t.Fatal("the other project is done before its deliveries")
			}
			r.Delete(key)
		}
		if !r.progress("proj_a") || !r.progress("proj_ab") {
			t.Errorf("%d keys: not done with an empty outbox", n)
		}
	}
}

// A second change is not done just because the first one was.
func TestProgressOfASecondChange(t *testing.T) {
	r := newTestDirectory(t)
	r.project("proj_a", 3)
	r.change("proj_a", "team", 1)
	for r.ring() {
	}
	r.delivered()
	if !r.progress("proj_a") {
		t.Fatal("the first change is not done")
	}
	r.change("proj_a", "free", 2)
	if r.progress("proj_a") {
		t.Error("done right after the second commit")
	}
	r.ring()
	if r.progress("proj_a") {
		t.Error("done before the deliveries")
	}
	r.delivered()
	if !r.progress("proj_a") {
		t.Error("the second change is not done")
	}
}

func TestMalformedProgress(t *testing.T) {
	command := directory.Progress("proj_a")
	for i := 1; i < len(command); i++ {
		if _, err := directory.Reads(command[:i]); err == nil {
			t.Errorf("%d of %d bytes are accepted", i, len(command))
		}
	}
	if _, err := directory.DecodeProgress([]byte{1, 1}); err == nil {
		t.Error("a longer reply is accepted")
	}
}
