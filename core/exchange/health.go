package exchange

import (
	"github.com/postern-ai/postern/core/jsontext"
)

// health answers GET /api/health.
func (x *exchange) health() {
	b := append([]byte(nil), `{"status":"ok","authenticated":true,"project_id":"`...)
	b = append(b, x.s.record.ProjectID...)
	x.respondJSON(append(b, `"}`...))
}

// welcome answers GET / with the product name, the endpoints, and the health and dashboard paths. It needs no key.
func (x *exchange) welcome() {
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.Member("name", `"Postern"`)
	b.Key("endpoints")
	b.Open('[')
	for _, e := range endpoints {
		if e.id != endpointRoot && e.id != endpointModel {
			b.String(e.method + " " + e.path)
		}
	}
	b.Close(']')
	b.Member("health", `"/api/health"`)
	if !x.config.ControlOff {
		b.Member("dashboard", `"/dashboard"`)
	}
	b.Close('}')
	x.respondJSON(b.B)
}
