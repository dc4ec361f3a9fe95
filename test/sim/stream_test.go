package sim_test

import (
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// head sends the head of a stream and schedules its chunks.
func (f *fetch) head(o *open, a *abi.Action, fault func(ms, code uint64)) {
	w, x, d := f.x.w, f.x, &f.behavior
	e := abi.Event{Kind: abi.EventHead, ID: a.ID, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "text/event-stream"}}}
	if d.Fault == "type" {
		e.Headers[0].Value = "text/html"
	}
	f.status = 200
	at := w.now
	x.reply(o, e, false)
	if d.Fault == "byte" {
		fault(a.FirstByteMs, abi.FaultFirstByte)
		return
	}
	pieces := f.pieces()
	gap := d.Gap
	if d.Fault == "total" { // pings until the total timeout
		pieces, gap = slices.Repeat([]piece{{data: ": ping\n\n"}}, int(a.TotalMs/10_000)+1), 10_000
	}
	n := 0
	var next func()
	next = func() {
		if o.canceled || x.over {
			return
		}
		switch {
		case a.TotalMs > 0 && w.now >= at+a.TotalMs:
			fault(0, abi.FaultTotal)
			return
		case n < len(pieces):
		case d.Fault == "truncated":
			f.over = true
			f.estimate(f.seen)
			x.reply(o, abi.Event{Kind: abi.EventEnd, ID: a.ID}, true)
			return
		default:
			f.over = true
			x.reply(o, abi.Event{Kind: abi.EventEnd, ID: a.ID}, true)
			return
		}
		if uint64(n) > d.After {
			switch d.Fault {
			case "cut":
				fault(0, abi.FaultBroken)
				return
			case "idle":
				fault(a.IdleMs, abi.FaultIdle)
				return
			}
		}
		p := pieces[n]
		n++
		f.last, f.before = p, f.reckoning()
		f.delivered(&p)
		x.reply(o, abi.Event{Kind: abi.EventChunk, ID: a.ID, Data: []byte(p.data)}, false)
		if f.next = func() { w.after(gap, next) }; !f.paused {
			f.resume()
		}
	}
	f.expire = func() {
		if a.TotalMs > 0 {
			w.after(at+a.TotalMs-min(w.now, at+a.TotalMs), func() {
				if f.paused {
					fault(0, abi.FaultTotal)
				}
			})
		}
	}
	w.after(gap, next)
}

// piece is one chunk. It has the information that this chunk completes.
type piece struct {
	data   string
	tokens uint64 // estimated, of its text
	input  bool   // it has the prompt's tokens
	usage  bool   // it has the final usage; no content follows
	end    bool
	broken bool // an error that ends the stream
}

// delivered records that the exchange has received a chunk. Reported usage is booked exactly only if the end is
// delivered.
func (f *fetch) delivered(p *piece) {
	f.seen += p.tokens
	f.content = f.content || p.tokens > 0
	f.input = f.input || p.input
	f.reported = f.reported || p.usage
	switch {
	case p.broken:
		f.over = true
		if f.content {
			f.estimate(f.seen)
		} else {
			f.unbill()
		}
	case p.end:
		f.over, f.ended = true, true
		if f.behavior.Lie != "" {
			f.estimate(f.seen)
			return
		}
		f.exact()
		f.clean = !f.behavior.Length
	}
}

// chunks splits the completion's text.
func (f *fetch) chunks() []string {
	n := max(1, int(f.behavior.Chunks))
	size := max(1, (len(f.text)+n-1)/n)
	size = max(size, len(`{"said":"`)+len(f.mark())+1) // the mark is in one chunk
	var all []string
	for rest := f.text; rest != ""; {
		k := min(size, len(rest))
		all, rest = append(all, rest[:k]), rest[k:]
	}
	return all
}

// pieces returns the entire stream in the provider's format, with its fault.
func (f *fetch) pieces() []piece {
	var all []piece
	switch f.wire {
	case "anthropic":
		all = f.anthropicPieces()
	case "responses":
		all = f.responsesPieces()
	default:
		all = f.openaiPieces()
	}
	d := &f.behavior
	switch {
	case d.Fault == "error":
		at := min(int(d.After)+1, len(all)-1)
		all = append(all[:at:at], piece{data: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"},\"message\":\"no\"}\n\n", broken: true})
	case d.Fault == "truncated":
		all = all[:min(len(all)-3, int(d.After)+1)]
	}
	if d.Cut > 0 {
		all = recut(all, int(d.Cut))
	}
	return all
}

// recut splits the stream into chunks of n bytes. The information of a piece belongs to the chunk that has the last
// byte of the piece.
func recut(pieces []piece, n int) (all []piece) {
	var next piece
	for _, p := range pieces {
		for rest := p.data; rest != ""; {
			k := min(n-len(next.data), len(rest))
			next.data, rest = next.data+rest[:k], rest[k:]
			if rest == "" {
				next.tokens += p.tokens
				next.input, next.usage = next.input || p.input, next.usage || p.usage
				next.end, next.broken = next.end || p.end, next.broken || p.broken
			}
			if len(next.data) == n {
				all, next = append(all, next), piece{}
			}
		}
	}
	if next.data != "" {
		all = append(all, next)
	}
	return all
}

func (f *fetch) openaiPieces() []piece {
	all := []piece{{data: fmt.Sprintf("data: {\"id\":\"c%d\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n", f.number, f.model.Name)}}
	for _, c := range f.chunks() {
		all = append(all, piece{data: fmt.Sprintf("data: {\"id\":\"c%d\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", f.number, c), tokens: tokensOf(c)})
	}
	all = append(all, piece{data: fmt.Sprintf("data: {\"id\":\"c%d\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", f.number, f.finish("stop", "length"))})
	if f.behavior.Lie != "none" {
		all = append(all, piece{data: fmt.Sprintf("data: {\"id\":\"c%d\",\"choices\":[],\"usage\":%s%s}\n\n", f.number, f.usage("prompt_tokens", "completion_tokens"), f.tierMember()), usage: true})
	}
	return append(all, piece{data: "data: [DONE]\n\n", end: true})
}

func (f *fetch) anthropicPieces() []piece {
	named := func(name, format string, args ...any) string {
		return "event: " + name + "\ndata: " + fmt.Sprintf(format, args...) + "\n\n"
	}
	usage, final := `,"usage":`+fmt.Sprintf(`{%s,"output_tokens":1}`, f.anthropicInput()), `,"usage":`+f.usage("input_tokens", "output_tokens")
	if f.behavior.Lie == "none" {
		usage, final = "", ""
	}
	all := []piece{
		{data: named("message_start", `{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[]%s}}`, f.number, f.model.Name, usage), input: usage != ""},
		{data: named("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)},
	}
	for _, c := range f.chunks() {
		all = append(all, piece{data: named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, c), tokens: tokensOf(c)})
	}
	return append(all,
		piece{data: named("content_block_stop", `{"type":"content_block_stop","index":0}`)},
		piece{data: named("message_delta", `{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null}%s}`, f.finish("end_turn", "max_tokens"), final), usage: true},
		piece{data: named("message_stop", `{"type":"message_stop"}`), end: true})
}

func (f *fetch) responsesPieces() []piece {
	named := func(name, format string, args ...any) string {
		return "event: " + name + "\ndata: " + fmt.Sprintf(`{"type":%q,`, name) + fmt.Sprintf(format, args...) + "}\n\n"
	}
	all := []piece{
		{data: named("response.created", `"response":{"id":"resp_%d","created_at":1,"model":%q,"status":"in_progress","output":[]}`, f.number, f.model.Name)},
		{data: named("response.output_item.added", `"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}`)},
	}
	for _, c := range f.chunks() {
		all = append(all, piece{data: named("response.output_text.delta", `"item_id":"m","output_index":0,"content_index":0,"delta":%q`, c), tokens: tokensOf(c)})
	}
	end := f.finish("response.completed", "response.incomplete")
	return append(all,
		piece{data: named("response.output_item.done", `"output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":%q}]}`, f.text)},
		piece{data: named("response.in_progress", `"response":{}`)},
		piece{data: named(end, `"response":%s`, f.body()), end: true})
}
