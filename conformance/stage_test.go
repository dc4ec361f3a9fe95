package conformance

import (
	"net/http"
	"testing"

	"github.com/postern-ai/postern/host"
)

// newStage is a native host on the virtual clock with an empty memory, and a cell to play on it.
func newStage(t *testing.T, upstream *Upstream, env map[string]string) *cell {
	c, _ := newStageOf(t, upstream, env)
	return c
}

func newStageOf(t *testing.T, upstream *Upstream, env map[string]string) (*cell, *Local) {
	local, err := NewLocal(env, host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Server.Close)
	r := &Runner{URL: local.Server.URL, Client: http.DefaultClient, Upstream: upstream, Native: true}
	x := &run{Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: Start, flights: map[string]underway{}}
	c := &cell{run: x, T: t}
	c.must(x.reset())
	return c, local
}
