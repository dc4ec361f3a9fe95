package transcript

import (
	"fmt"

	"github.com/postern-ai/postern/core/abi"
)

var eventNames = [...]string{"", "request", "body", "supplied", "stored", "reply", "response", "fault", "timer", "disconnect", "head", "chunk", "end", "flight"}

// Event formats an event on one line. It omits the data of a request event, because that data is a random seed.
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
