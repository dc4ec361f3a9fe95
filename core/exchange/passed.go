package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/provider/anthropic"
)

// This file passes callers' headers to providers. Only headers of the vendor whose format the caller uses are read. A
// target gets a header if its catalog entry names the header and the target is called in the same vendor's format.
// Fallback targets of other vendors get no headers.

// maxPassedBytes limits the total size of the header values in one request, in bytes, because the state contains
// them. Agents send a few hundred bytes.
const maxPassedBytes = 2048

// betaQuery is the query string that Anthropic's SDKs use to call the beta version of an endpoint.
const betaQuery = "beta=true"

// vendorOf returns the vendor whose headers belong to a dialect. config.CallerHeader uses the same name.
func vendorOf(d chat.Dialect) string {
	switch d {
	case chat.OpenAI, chat.Responses:
		return "openai"
	case chat.Anthropic:
		return "anthropic"
	}
	return ""
}

// readPassed keeps the caller's headers that a target may get. The details are about headers that no target gets.
func (x *exchange) readPassed() (details []fault.Detail) {
	vendor := vendorOf(x.endpoint.dialect)
	size := 0
	for i := range config.CallerHeaders {
		h := &config.CallerHeaders[i]
		value := x.header(h.Name)
		if h.Vendor != vendor || value == "" || h.Name == anthropic.VersionHeader && value == anthropic.Version {
			continue // every request has this version anyway
		}
		if len(value) > config.MaxHeaderBytes || size+len(value) > maxPassedBytes || !head.IsPrintable(value) {
			x.dropHeader(h.Name)
			details = append(details, fault.Detail{
				Field: h.Name, Message: "must be printable ASCII of at most 1024 bytes, and at most 2048 together with the other headers for the provider",
			})
			continue
		}
		size += len(value)
		value = strings.TrimSpace(value)
		if h.Listed {
			b := api.ReadBetas(x.config, h.Name, value)
			value, details = b.Known, append(details, b.Details...)
			x.dropHeader(b.Dropped)
		}
		if value != "" {
			x.s.passed = append(x.s.passed, abi.Header{Name: h.Name, Value: value})
		}
	}
	return details
}

func (x *exchange) dropHeader(name string) {
	x.s.droppedHeaders = reply.Names(x.s.droppedHeaders, name)
}

// checkPassed adds the Governor's findings in the headers to those in the body. If a header has a finding to redact,
// the header is left out, and the result is true. A placeholder would name another session, version or feature.
func (x *exchange) checkPassed(check *inspect.Check, result *inspect.Result) (dropped bool) {
	kept := x.s.passed[:0]
	for _, h := range x.s.passed {
		if check.Header(result, h.Name, h.Value) {
			x.dropHeader(h.Name)
			dropped = true
			continue
		}
		kept = append(kept, h)
	}
	x.s.passed = kept
	return dropped
}

// hashPassed adds the headers that may affect the response to the hash of a request. anthropic-beta comes first, even
// if it is missing, so that hashes are the same as in earlier versions.
func (x *exchange) hashPassed(w *abi.Writer) {
	w.String(x.passed("anthropic-beta"))
	for i := range config.CallerHeaders {
		if h := &config.CallerHeaders[i]; h.Answers && h.Name != "anthropic-beta" {
			if value := x.passed(h.Name); value != "" {
				w.String(h.Name)
				w.String(value)
			}
		}
	}
	if x.betaForm() {
		w.String(betaQuery)
	}
}

// passed returns the value of a header for providers. If there is none, it returns "".
func (x *exchange) passed(name string) string {
	for i := range x.s.passed {
		if h := &x.s.passed[i]; h.Name == name {
			return h.Value
		}
	}
	return ""
}

// betaForm reports whether the caller uses the beta version of one of Anthropic's endpoints.
func (x *exchange) betaForm() bool { return x.s.dialect == chat.Anthropic && x.s.query == betaQuery }

func (x *exchange) pass(request *abi.Action) {
	p := x.model().Provider
	if vendor := vendorOf(x.s.dialect); vendor == "" || vendorOf(x.wire().Dialect) != vendor {
		return
	}
	for _, h := range x.s.passed {
		if p.Gets(h.Name) {
			request.Headers = append(without(request.Headers, h.Name), h)
		}
	}
	if x.betaForm() && p.Gets("anthropic-beta") {
		request.URL += "?" + betaQuery
	}
}

func without(headers []abi.Header, name string) []abi.Header {
	kept := headers[:0]
	for _, h := range headers {
		if h.Name != name {
			kept = append(kept, h)
		}
	}
	return kept
}
