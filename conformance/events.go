package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// event is one server-sent event that has data.
type event struct{ name, data string }

// eventsOf takes a stream apart. It knows no more of the format than what Postern writes: LF, one line of data
// (or several), comments.
func eventsOf(body []byte) (events []event) {
	for block := range strings.SplitSeq(string(body), "\n\n") {
		var e event
		var data []string
		for line := range strings.SplitSeq(block, "\n") {
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, text)
			} else if text, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = text
			}
		}
		if e.data = strings.Join(data, "\n"); len(data) > 0 {
			events = append(events, e)
		}
	}
	return events
}

// deltaPaths are where the families have a piece of the answer's text, by the type of the event.
var deltaPaths = map[string]string{
	"": "choices.0.delta.content", "delta": "text", "content_block_delta": "delta.text", "response.output_text.delta": "delta",
}

// streamText is what a stream's deltas say.
func streamText(body []byte) string {
	var all strings.Builder
	for _, e := range eventsOf(body) {
		if path := deltaPaths[gjson.Get(e.data, "type").Str]; path != "" {
			all.WriteString(gjson.Get(e.data, path).Str)
		}
	}
	return all.String()
}

// nth is the event that an assertion's first word names, and what stands behind that.
func nth(rest string, body []byte) (e event, after string, err error) {
	number, after, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	events := eventsOf(body)
	if n < 0 {
		n += len(events)
	}
	if err != nil || n < 0 || n >= len(events) {
		return e, after, fmt.Errorf("there is no event %s, in %.2000s", number, body)
	}
	return events[n], after, nil
}

// assertEvent: "N PATH OP VALUE".
func assertEvent(rest string, body []byte) error {
	e, after, err := nth(rest, body)
	if err != nil {
		return err
	}
	return assertJSON(after, []byte(e.data))
}

// assertData: "N VALUE".
func assertData(rest string, body []byte) error {
	e, want, err := nth(rest, body)
	if err == nil && e.data != want {
		err = fmt.Errorf("the event's data is %s, want %s, in %.2000s", e.data, want, body)
	}
	return err
}
