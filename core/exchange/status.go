package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/api/root"
)

func (x *exchange) health() { x.respondJSON(native.AppendHealth(nil, x.s.record.ProjectID)) }

// respondRoot serves GET /. It requires no key and reads no stored data.
func (x *exchange) respondRoot() {
	o := root.Overview{Control: !x.config.ControlOff, Docs: !x.config.DocsOff}
	for i := range x.rows {
		if e := &x.rows[i]; e.listed() {
			o.Endpoints = append(o.Endpoints, e.method+" "+e.path)
		}
	}
	headers, body := root.Answer(&o, x.header("accept"))
	x.reply(200, headers, abi.Part{Data: body})
}
