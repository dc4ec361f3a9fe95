package inspect

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/jsontext"
)

// slot is one text of a translated response. All texts are checked in one buffer.
type slot struct {
	start, end int
	choice     int
	part       *chat.Part // nil for the choice's log probabilities
	tool       int        // index of the tool call
}

// collector copies the texts of a response into one buffer. The buffer can be checked like a body.
type collector struct {
	walker
	slots []slot
}

// Response checks a translated response. It rewrites the texts in place, unless the decision is Rejected. Result.Body
// is nil. Paths are those of a chat completion in OpenAI's dialect. If thinking was rewritten, it loses its
// signature, as in a translated stream. Providers then do not receive that thinking in the next request.
func (c *Check) Response(resp *chat.Response) Result {
	w := &collector{walker: walker{inspector: c.inspector(governor.Output, nil, nil)}}
	w.joined = true
	w.response(resp)
	w.length()
	for _, p := range w.places {
		w.setPath(p, w.pathAt(p.at))
	}
	w.matchResponse(resp)
	w.decide()
	if w.result.Decision != governor.Rejected {
		w.write(resp)
	}
	return w.result
}

// RestoreResponse does the same as Restore for a translated response. It changes the response in place.
func RestoreResponse(resp *chat.Response, r *governor.Redactor) {
	w := &collector{walker: walker{inspector: &inspector{mode: restore, redactor: r}}}
	w.response(resp)
	w.write(resp)
}

func (w *collector) response(resp *chat.Response) {
	size := 0
	for i := range resp.Choices {
		a := &resp.Choices[i]
		size += len(a.LogProbs)
		for j := range a.Parts {
			size += len(a.Parts[j].Text) + len(a.Parts[j].Args)
		}
	}
	w.body = make([]byte, 0, size)
	for i := range resp.Choices {
		w.choice(i, &resp.Choices[i])
	}
	for i := range w.slots {
		if s := &w.slots[i]; s.part == nil {
			w.logs = append(w.logs, span{start: uint32(s.start), end: uint32(s.end)})
		}
	}
	w.repeated()
}

func (w *collector) choice(index int, a *chat.Answer) {
	tools := 0
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Kind != chat.Text {
			w.inspector.text(0)
		}
		switch p.Kind {
		case chat.Text:
			w.segments.push(w.slot(slot{choice: index, part: p}, string(p.Text)))
		case chat.Refusal, chat.Thinking:
			s := w.slot(slot{choice: index, part: p}, string(p.Text))
			s.fixed = w.mode == restore && p.Signature != ""
			w.one(s)
		case chat.ToolCall:
			s := w.slot(slot{choice: index, part: p, tool: tools}, p.Args)
			s.document = true
			w.one(s)
			tools++
		}
	}
	w.inspector.text(0)
	if a.LogProbs != "" {
		w.slot(slot{choice: index}, a.LogProbs)
	}
}

func (w *collector) slot(s slot, text string) segment {
	s.start = len(w.body)
	w.body = append(w.body, text...)
	s.end = len(w.body)
	w.slots = append(w.slots, s)
	return segment{start: uint32(s.start), end: uint32(s.end), level: 1, escaped: strings.IndexByte(text, '\\') >= 0}
}

// write copies the rewritten texts back into the response.
func (w *collector) write(resp *chat.Response) {
	w.edits.sort()
	out := w.writer()
	for i := range w.slots {
		s := &w.slots[i]
		if out.next == w.edits.count {
			return
		}
		if int(w.edits.at(out.next).start) >= s.end {
			continue
		}
		text := string(out.rewrite(make([]byte, 0, s.end-s.start), s.start, s.end))
		switch {
		case s.part == nil:
			resp.Choices[s.choice].LogProbs = text
		case s.part.Kind == chat.ToolCall:
			s.part.Args = text
		default:
			s.part.Text, s.part.Signature = jsontext.Escaped(text), ""
		}
	}
}

func (w *collector) pathAt(at int) string {
	for i := range w.slots {
		if s := &w.slots[i]; at >= 0 && at < s.end {
			return s.path()
		}
	}
	return ""
}

func (s *slot) path() string {
	path := "choices[" + strconv.Itoa(s.choice) + "]."
	if s.part == nil {
		return path + "logprobs"
	}
	switch s.part.Kind {
	case chat.ToolCall:
		return path + "message.tool_calls[" + strconv.Itoa(s.tool) + "].function.arguments"
	case chat.Refusal:
		return path + "message.refusal"
	case chat.Thinking:
		return path + "message.reasoning_content"
	}
	return path + "message.content"
}
