package host

import "fmt"

func (h *Host) log(line []byte) {
	if h.Log == nil {
		return
	}
	h.logMu.Lock()
	defer h.logMu.Unlock()
	_, _ = h.Log.Write(append(line, '\n'))
}

// logFailure logs a failure of this host as a code. It does not log error texts, because they can contain URLs or
// secrets.
func (h *Host) logFailure(code, requestID string) {
	if h.Observer != nil {
		h.Observer.Failed(code)
	}
	h.log(fmt.Appendf(nil, `{"level":"error","requestId":%q,"code":%q}`, requestID, code))
}
