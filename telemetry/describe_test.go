package telemetry_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store/memory"
)

// keeper is an observer that keeps the arguments of Attempt.
type keeper struct {
	config *config.Config
	ids    []uint64
	states [][]byte
}

func (k *keeper) Watch(p server.Parts)                              { k.config = p.Config }
func (k *keeper) Begin(string, *http.Request) host.ObservedExchange { return k }
func (k *keeper) Failed(string)                                     {}
func (k *keeper) Head(uint64, []abi.Header, bool)                   {}
func (k *keeper) Sent([]byte)                                       {}
func (k *keeper) Log([]byte)                                        {}
func (k *keeper) End()                                              {}
func (k *keeper) Attempt(f *abi.Action, state []byte) host.ObservedAttempt {
	k.ids, k.states = append(k.ids, f.ID), append(k.states, bytes.Clone(state))
	return ended{}
}

type ended struct{}

func (ended) Head(int)         {}
func (ended) End(uint64, bool) {}

// TestDescribeFetch checks three things: the state contains each fetch's target, damaged states are refused, and
// decoding is cheap.
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
	if len(k.states) != len(want) {
		t.Fatalf("%d fetches, want %d", len(k.states), len(want))
	}
	for i, state := range k.states {
		if got, ok := exchange.DescribeFetch(k.config, k.ids[i], state); !ok || got != want[i] {
			t.Errorf("fetch %d: %v %v, want %v", i, got, ok, want[i])
		}
		if _, ok := exchange.DescribeFetch(k.config, 99, state); ok {
			t.Error("an unknown action is described")
		}
		for cut := range len(state) {
			if _, ok := exchange.DescribeFetch(k.config, k.ids[i], state[:cut]); ok {
				t.Errorf("a state cut at %d of %d bytes is described", cut, len(state))
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { exchange.DescribeFetch(k.config, k.ids[0], k.states[0]) }); n > 40 {
		t.Errorf("%v allocations to describe a fetch", n)
	} else {
		t.Logf("%v allocations to describe a fetch", n)
	}
}
