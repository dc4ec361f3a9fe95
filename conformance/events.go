package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// event is a server-sent event with data.
type event struct{ name, data string }

// eventsOf parses a stream. It supports only the format that Postern writes: LF, one or more data lines, comments.
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

// deltaPaths are the JSON paths of a text delta by event type, for all API families.
var deltaPaths = map[string]string{
	"": "choices.0.delta.content", "delta": "text", "content_block_delta": "delta.text", "response.output_text.delta": "delta",
}

func streamText(body []byte) string {
	var all strings.Builder
	for _, e := range eventsOf(body) {
		if path := deltaPaths[gjson.Get(e.data, "type").Str]; path != "" {
			all.WriteString(gjson.Get(e.data, path).Str)
		}
	}
	return all.String()
}

// nth returns the event that an assertion's first word selects, and the rest of the assertion.
func nth(rest string, body []byte) (e event, after string, err error) {
	number, after, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	events := eventsOf(body)
	if n < 0 {
		n += len(events)
	}
	if err != nil || n < 0 || n >= len(events) {
		return e, after, fmt.Errorf("event %s not found in %.2000s", number, body)
	}
	return events[n], after, nil
}

// assertEvent checks "N PATH OP VALUE".
func assertEvent(rest string, body []byte) error {
	e, after, err := nth(rest, body)
	if err != nil {
		return err
	}
	return assertJSON(after, []byte(e.data))
}

// assertData checks "N VALUE".
func assertData(rest string, body []byte) error {
	e, want, err := nth(rest, body)
	if err == nil && e.data != want {
		err = fmt.Errorf("the event's data is %s, want %s, in %.2000s", e.data, want, body)
	}
	return err
}
