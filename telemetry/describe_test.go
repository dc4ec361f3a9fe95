package telemetry_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store/memory"
)

// keeper is an observer that keeps what the states that Attempt gets say about their fetches.
type keeper struct {
	config  *config.Config
	fetches []exchange.Fetch
	unknown int     // the fetches with another ID that a state describes
	allocs  float64 // of the last description
}

func (k *keeper) Watch(p server.Parts)                              { k.config = p.Config }
func (k *keeper) Begin(string, *http.Request) host.ObservedExchange { return k }
func (k *keeper) Failed(string)                                     {}
func (k *keeper) Head(uint64, []abi.Header, bool)                   {}
func (k *keeper) Sent([]byte)                                       {}
func (k *keeper) Log([]byte)                                        {}
func (k *keeper) End()                                              {}
func (k *keeper) Attempt(a *abi.Action, state host.State) host.ObservedAttempt {
	f, _ := state.DescribeFetch(k.config, a.ID)
	k.fetches = append(k.fetches, f)
	if _, ok := state.DescribeFetch(k.config, 99); ok {
		k.unknown++
	}
	k.allocs = testing.AllocsPerRun(100, func() { state.DescribeFetch(k.config, a.ID) })
	return ended{}
}

type ended struct{}

func (ended) Head(int)         {}
func (ended) End(uint64, bool) {}

// TestDescribeFetch checks that a state describes the fetch that its step requested, and no other one, and that this is
// cheap.
func TestDescribeFetch(t *testing.T) {
	k := &keeper{}
	g := openWith(t, k, memory.New(machineClock{}))
	g.chat("alpha", true)
	g.chat("openai/alpha", false)
	g.send("POST", "/v1/embeddings", `{"model":"vectors","input":"x"}`, "X-API-Key", g.key)
	g.send("POST", "/v1/messages/count_tokens", `{"model":"beta","messages":[{"role":"user","content":"x"}]}`, "X-API-Key", g.key)
	want := []exchange.Fetch{
		{Provider: "openai", Model: "alpha", Stream: true}, {Provider: "openai", Model: "alpha"},
		{Provider: "openai", Model: "vectors", Purpose: exchange.ForEmbeddings}, {Provider: "anthropic", Model: "beta", Purpose: exchange.ForCount},
	}
	if !slices.Equal(k.fetches, want) || k.unknown > 0 {
		t.Errorf("described %v and %d unknown fetches, want %v", k.fetches, k.unknown, want)
	}
	if k.allocs > 8 {
		t.Errorf("%v allocations to describe a fetch", k.allocs)
	}
}
