package exchange

import "github.com/postern-ai/postern/core/jsontext"

// providersHeader reports this isolate's view of the providers to the control plane: which have credentials, and
// the circuit state of the targets it has called. The control plane only displays it.
const providersHeader = "x-postern-providers"

// providersJSON is {"ready": [names], "targets": [{"model", "state", "latencyMs"}]}.
func (x *exchange) providersJSON() string {
	b := jsontext.Builder{B: make([]byte, 0, 512)}
	b.Open('{')
	b.Key("ready")
	b.Open('[')
	for i := range x.config.Providers {
		if p := &x.config.Providers[i]; p.Ready {
			b.String(p.Name)
		}
	}
	b.Close(']')
	b.Key("targets")
	b.Open('[')
	for _, t := range x.circuits.Targets(&x.config.Routing, x.now) {
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
	return string(b.B)
}
