package explore_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// marks are strings that identify parts of a response. Each has a name that testdata/ends uses.
var marks = []struct{ text, name string }{
	{"event: message_start", "start"}, {"event: response.created", "start"}, {completionMark, "text"}, {"data: [DONE]", "done"}, {"event: message_stop", "stop"}, {"event: response.completed", "completed"},
	{"event: response.failed", "failed"}, {`"type":"error"`, "error"},
}

// contents summarizes a response: how often each mark occurs, and the error codes.
func contents(body []byte) (text string) {
	for _, m := range marks {
		switch n := bytes.Count(body, []byte(m.text)); n {
		case 0:
		case 1:
			text += " " + m.name
		default:
			text += fmt.Sprintf(" %s×%d", m.name, n)
		}
	}
	for rest := string(body); ; {
		_, after, ok := strings.Cut(rest, `"code":"`)
		if !ok {
			return text
		}
		var word string
		word, rest, _ = strings.Cut(after, `"`)
		text += " " + word
	}
}

// headerText returns the response headers that describe the exchange.
func headerText(headers []abi.Header) (text string) {
	for _, h := range headers {
		switch h.Name {
		case "x-postern-attempts":
			text += fmt.Sprintf(" attempts=%q", briefly(h.Value))
		case "retry-after-ms", "x-should-retry", "x-postern-model", "x-postern-cache", "x-postern-cost-cents", "x-postern-dropped-params",
			"idempotent-replayed", "allow", "x-postern-estimated", "x-postern-max-tokens":
			text += fmt.Sprintf(" %s=%q", strings.TrimPrefix(h.Name, "x-postern-"), h.Value)
		}
	}
	return text
}

// briefly returns up to two attempts in full. If there are more, it returns how many there are, and the last one.
func briefly(attempts string) string {
	if strings.Count(attempts, ",") < 2 {
		return attempts
	}
	count, _, _ := strings.Cut(attempts, ";")
	return count + "; …" + attempts[strings.LastIndexByte(attempts, ',')+1:]
}
