package transcript

import (
	"fmt"

	"github.com/postern-ai/postern/core/abi"
)

var eventNames = [...]string{"", "request", "body", "supplied", "stored", "reply", "response", "fault", "timer", "disconnect", "head", "chunk", "end", "flight"}

// Event formats an event on one line. The data of a request event is omitted, because it is a random seed.
func (p *Printer) Event(e *abi.Event) string {
	line := eventNames[e.Kind]
	if e.ID != 0 {
		line += fmt.Sprintf(" #%d", e.ID)
	}
	if e.Code != 0 {
		line += fmt.Sprintf(" code %d", e.Code)
	}
	if len(e.Data) > 0 && e.Kind != abi.EventRequest {
		line += " " + p.text(e.Data)
	}
	return p.masked(line)
}
