package host

import "github.com/postern-ai/postern/core/abi"

// buffers holds the buffers of one exchange by number. An unwritten buffer is empty.
type buffers map[uint64][]byte

func (b buffers) keep(t *task, event abi.Event) {
	if event.Kind == abi.EventResponse || event.Kind == abi.EventBody && event.Code == abi.OutcomeOK {
		b[t.Buffer] = event.Data
	}
}

// body returns a body's bytes. The result may share memory with a buffer.
func (b buffers) body(parts []abi.Part) []byte {
	if len(parts) == 1 {
		return b.part(parts[0])
	}
	var body []byte
	for _, p := range parts {
		body = append(body, b.part(p)...)
	}
	return body
}

func (b buffers) part(p abi.Part) []byte {
	if p.Buffer != 0 {
		return b[p.Buffer]
	}
	return p.Data
}
