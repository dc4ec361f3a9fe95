package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Fetch describes a fetch for a host's observers, such as metrics and traces. No decision depends on it.
type Fetch struct {
	Provider, Model string // names in the catalog
	Purpose         Purpose
	Stream          bool // the caller asked for a stream
}

// DescribeFetch describes the fetch that a step has requested. id is the action's ID, and state is the exchange's
// state after that step. If the step requested no such fetch, or if cfg no longer has its target, ok is false.
func DescribeFetch(cfg *config.Config, id uint64, state []byte) (f Fetch, ok bool) {
	x := exchange{step: step{config: cfg}}
	r := abi.Reader{Buf: state}
	x.s.fields(abi.ReadFrom(&r), cfg.Models)
	if r.End() != nil {
		return f, false
	}
	return x.describeFetch(id)
}

func (x *exchange) describeFetch(id uint64) (f Fetch, ok bool) {
	x.endpoint = &endpoints[x.s.endpoint]
	f.Stream = x.s.request.stream
	if id == idClassify {
		f.Purpose = ForClassifier
		if m := x.config.Model(x.s.govern.classification.model); m != nil {
			f.Provider, f.Model = m.Provider.Name, m.Name
		}
		return f, x.s.govern.classification.wanted
	}
	target := x.s.lastTarget
	if id != idFetch || target == 0 || target > uint64(len(x.targets())) {
		return f, false
	}
	f.Purpose = x.endpoint.calls.purpose
	m := x.targets()[target-1].Model
	f.Provider, f.Model = m.Provider.Name, m.Name
	return f, true
}

func IsKeepAlive(piece []byte) bool { return string(piece) == string(keepAlive) }
