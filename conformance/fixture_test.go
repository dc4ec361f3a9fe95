package conformance

import (
	"testing"

	"github.com/postern-ai/postern/host"
)

// newFixture starts a native host on the virtual clock with empty stores.
func newFixture(t *testing.T, upstream *Upstream, env map[string]string) *fixture {
	c, _ := newFixtureOf(t, upstream, env)
	return c
}

func newFixtureOf(t *testing.T, upstream *Upstream, env map[string]string) (*fixture, *Local) {
	local, err := NewLocal(env, host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(local.Close)
	r := &Runner{URL: local.URL, ControlURL: local.ControlURL, Client: newClient(), Upstream: upstream, Native: true}
	x := &run{Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: Start, flights: map[string]startedRequest{}}
	c := &fixture{run: x, T: t}
	c.must(x.reset())
	return c, local
}
