package reply

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/policy"
)

// Registry adds the headers for a response from a model in the project's model registry:
//
//   - x-postern-registry: the state of the model, if the request passes only because the registry merely warns;
//   - Deprecation, a structured field of type Date: RFC 9745, section 2.1;
//   - Sunset, an HTTP-date: RFC 8594, section 3;
//   - x-postern-successor, the model to use instead.
func Registry(headers []abi.Header, r *policy.Registration) []abi.Header {
	add := func(name, value string) { headers = append(headers, abi.Header{Name: name, Value: value}) }
	if r.Ruling == policy.Warns {
		add(header.Registry, policy.StateWord(r.State))
	}
	if r.State == doc.RegistryDeprecated {
		add("deprecation", "@"+strconv.FormatUint(r.DeprecatedMs/calendar.SecondMs, 10))
		if r.SunsetMs > 0 {
			add("sunset", string(calendar.AppendHTTPDate(nil, r.SunsetMs)))
		}
	}
	if r.Successor != nil && (r.State == doc.RegistryDeprecated || r.Ruling == policy.Warns) {
		add(header.Successor, r.Successor.Name)
	}
	return headers
}
