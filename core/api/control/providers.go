package control

import (
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/route"
)

// AppendProviders appends the value of header.Providers: {"ready": [names], "targets": [{"model", "state", "latencyMs"}]}.
func AppendProviders(dst []byte, providers []config.Provider, targets []route.Target) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Key("ready")
	b.Open('[')
	for i := range providers {
		if p := &providers[i]; p.Ready {
			b.String(p.Name)
		}
	}
	b.Close(']')
	b.Key("targets")
	b.Open('[')
	for i := range targets {
		t := &targets[i]
		b.Open('{')
		b.Key("model")
		b.String(t.Model)
		b.Key("state")
		b.String(t.State)
		b.Key("latencyMs")
		b.Uint(t.LatencyMs)
		b.Close('}')
	}
	b.Close(']')
	b.Close('}')
	return b.B
}
