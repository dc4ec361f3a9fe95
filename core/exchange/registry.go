package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// target is the target of the requested name with a model, or nil.
func (x *exchange) target(model string) *policy.Target {
	targets := x.targets()
	for i := range targets {
		if targets[i].Model.Name == model {
			return &targets[i]
		}
	}
	return nil
}

// mayUse reports whether a cached response of a model may be returned: the model is a target of the requested name that
// the key, its project and the registry allow. The response may be another key's.
func (x *exchange) mayUse(model string) bool {
	t := x.target(model)
	return t != nil && t.Allowed
}

// registryHeaders adds the headers that the project's model registry gives the responses of a model:
//
//   - x-postern-registry: its state, if only a registry that warns lets the request pass;
//   - Deprecation, a structured field of type Date: RFC 9745, section 2.1;
//   - Sunset, an HTTP-date: RFC 8594, section 3;
//   - x-postern-successor, the model to use instead.
func (x *exchange) registryHeaders(headers []abi.Header, model string) []abi.Header {
	t := x.target(model)
	if t == nil {
		return headers
	}
	r := &t.Registration
	add := func(name, value string) { headers = append(headers, abi.Header{Name: name, Value: value}) }
	if r.Ruling == policy.Warns {
		add("x-postern-registry", policy.StateWord(r.State))
	}
	if r.State == doc.RegistryDeprecated {
		add("deprecation", "@"+strconv.FormatUint(r.DeprecatedMs/calendar.SecondMs, 10))
		if r.SunsetMs > 0 {
			add("sunset", string(calendar.AppendHTTPDate(nil, r.SunsetMs)))
		}
	}
	if r.Successor != nil && (r.State == doc.RegistryDeprecated || r.Ruling == policy.Warns) {
		add("x-postern-successor", r.Successor.Name)
	}
	return headers
}

// forbiddenBecause explains why none of the targets of a name is allowed; advised is set if it names a model to use
// instead.
func forbiddenBecause(targets []policy.Target, tier *config.Tier) (message string, advised bool) {
	for i := range targets {
		if targets[i].Registration.Ruling != policy.Refuses {
			return "is not allowed for this key", false
		}
	}
	switch {
	case tier != nil:
		return "has no model that the project's model registry permits for this key", false
	case len(targets) == 0:
		return "is not allowed for this key", false
	}
	r := &targets[0].Registration
	message = refusedState(r.State) + " in the project's model registry"
	if r.Successor == nil {
		return message, false
	}
	return message + "; use " + r.Successor.Name, true
}

// refusedState is the predicate of a model that the registry refuses.
func refusedState(s doc.RegistryState) string {
	switch s {
	case 0:
		return "has no entry"
	case doc.RegistryPending:
		return "is pending approval"
	case doc.RegistryRestricted, doc.RegistryDeprecated:
		return "is restricted to other keys"
	}
	return "is " + policy.StateWord(s)
}
