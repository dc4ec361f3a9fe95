// Package fault contains the table of all errors that callers see. A Fault is the number of an error. Its row in
// table.go has the response, and says how the gateway and its clients handle the error. Codes are stable. Programs
// should compare codes and not messages.
package fault

import "github.com/postern-ai/postern/core/jsontext"

// All returns all faults.
func All() []Fault {
	all := make([]Fault, 0, count)
	for f := None + 1; f < count; f++ {
		all = append(all, f)
	}
	return all
}

// Status returns the HTTP status.
func (f Fault) Status() uint64 { return uint64(table[f].status) }

// Code returns the stable name. Two faults have the same code if they mean the same on different endpoints.
func (f Fault) Code() string { return table[f].code }

// Text returns the human-readable message. Details say more.
func (f Fault) Text() string { return table[f].text }

// Place returns the endpoints that return the fault.
func (f Fault) Place() Place { return table[f].place }

// Retry returns whether a client repeats the request.
func (f Fault) Retry() Retry { return table[f].retry }

// Permanent reports whether the same request would get the same error again. Its response has x-should-retry: false.
func (f Fault) Permanent() bool { return table[f].retry == Permanent }

// Stored reports whether the response is stored under the request's Idempotency-Key and replayed.
func (f Fault) Stored() bool { return table[f].replay == Stored }

// Shared reports whether the followers of a flight get the leader's fault.
func (f Fault) Shared() bool { return table[f].flight == Shared }

// Breaks reports whether a stream that ends with the fault counts against its target's circuit.
func (f Fault) Breaks() bool { return table[f].circuit == Breaks }

// Origin returns who is responsible for the error.
func (f Fault) Origin() Origin { return table[f].origin }

// Deferred returns f, which must be a fault that is recorded and returned after admission. It panics if f is returned
// immediately.
func (f Fault) Deferred() Fault {
	if table[f].stage == AtOnce {
		panic("fault: " + table[f].code + " is not returned after admission")
	}
	return f
}

// ByRecord reports whether a newer record of the key may allow the request after all.
func (f Fault) ByRecord() bool { return table[f].stage == DeferredByRecord }

// SharedByCode returns the shared fault with the given code. A flight that ends with an error passes this code to its
// followers.
func SharedByCode(code []byte) (f Fault, ok bool) {
	for f := None + 1; f < count; f++ {
		if f.Shared() && f.Code() == string(code) {
			return f, true
		}
	}
	return None, false
}

// Detail is a problem with one field of a request. Message continues a sentence that starts with Field, for example
// "temperature" and "must be a number between 0 and 2, got 3".
type Detail struct{ Field, Message string }

// Append appends the error body {"error","code","requestId"}, with "details" if there are any.
func (f Fault) Append(dst []byte, requestID string, details []Detail) []byte {
	before, after := f.Halves()
	dst = append(dst, before...)
	dst = append(dst, requestID...)
	if len(details) == 0 {
		return append(dst, after...)
	}
	dst = append(dst, `","details":[`...)
	for i, d := range details {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"field":`...)
		dst = jsontext.AppendString(dst, d.Field)
		dst = append(dst, `,"message":`...)
		dst = jsontext.AppendString(dst, d.Message)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// Halves returns the body without details, split at the request ID.
func (f Fault) Halves() (before, after string) {
	return `{"error":"` + f.Text() + `","code":"` + f.Code() + `","requestId":"`, `"}`
}
