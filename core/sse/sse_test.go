package sse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/sse"
)

// all parses a stream in pieces of size bytes and returns the events as a string. If size is 0, it parses the whole
// stream at once.
func all(t *testing.T, stream string, size int) string {
	t.Helper()
	var p sse.Parser
	var got strings.Builder
	if size == 0 {
		size = max(len(stream), 1)
	}
	for at := 0; at < len(stream); at += size {
		piece := []byte(stream[at:min(at+size, len(stream))])
		events, ok := p.Feed(piece, false)
		if !ok {
			t.Fatal("a piece was rejected")
		}
		for _, e := range events {
			fmt.Fprintf(&got, "%s=%q;", e.Name, e.Data)
		}
		p.Rest = append([]byte(nil), p.Rest...) // an exchange's state is encoded between steps
		clear(piece)                            // and the host reuses the memory
	}
	events, ok := p.Feed(nil, true)
	if !ok {
		t.Fatal("the end was rejected")
	}
	for _, e := range events {
		fmt.Fprintf(&got, "%s=%q;", e.Name, e.Data)
	}
	return got.String()
}

var streams = []struct{ name, stream, want string }{
	{"one", "data: a\n\n", `="a";`},
	{"no space", "data:a\n\n", `="a";`},
	{"one space is dropped", "data:  a\n\n", `=" a";`},
	{"named", "event: ping\ndata: {}\n\n", `ping="{}";`},
	{"the name after the data", "data: {}\nevent: ping\n\n", `ping="{}";`},
	{"several lines", "data: a\ndata: b\ndata:\n\n", `="a\nb\n";`},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", `="a";="b";`},
	{"CR", "data: a\r\rdata: b\r\r", `="a";="b";`},
	{"mixed", "data: a\r\ndata: b\n\rdata: c\r\n\n", `="a\nb";="c";`},
	{"comments", ": hello\n\n:\ndata: a\n: in between\n\n", `="a";`},
	{"without data", "event: x\n\nid: 7\nretry: 10\n\ndata: a\n\n", `="a";`},
	{"empty data", "data\n\ndata:\n\n", `="";="";`},
	{"unknown fields", "dat: x\ndata: a\nDATA: y\n\n", `="a";`},
	{"byte order mark", "\uFEFFdata: a\n\n\uFEFFdata: b\n\n", `="a";`},
	{"incomplete event", "data: a\n\ndata: b\n", `="a";`},
	{"incomplete line", "data: a", ``},
	{"nothing", "", ``},
}

func TestPieces(t *testing.T) {
	for _, c := range streams {
		for _, size := range []int{0, 1, 2, 3, 7} {
			if got := all(t, c.stream, size); got != c.want {
				t.Errorf("%s in pieces of %d: %s, want %s", c.name, size, got, c.want)
			}
		}
	}
}

func TestTrailingBytesAreKept(t *testing.T) {
	for _, trailing := range []string{"d", "data: x", "data: x\n", ": c", "\r"} {
		var p sse.Parser
		events, ok := p.Feed([]byte("data: a\n\n"+trailing), false)
		if !ok || len(events) != 1 || string(p.Rest) != trailing {
			t.Errorf("%q: %d events, %q left", trailing, len(events), p.Rest)
		}
	}
}

func TestTooLong(t *testing.T) {
	long := "data: " + strings.Repeat("x", sse.MaxEvent)
	for _, stream := range []string{long, long + "\n\n", strings.Repeat(": c\n", sse.MaxEvent/4+1), strings.Repeat("data: xxxxxxxxx\n", sse.MaxEvent/16+1)} {
		var p sse.Parser
		ok := true
		for at := 0; at < len(stream) && ok; at += 65536 {
			_, ok = p.Feed([]byte(stream[at:min(at+65536, len(stream))]), false)
		}
		if ok {
			t.Errorf("an event of %d bytes was accepted", len(stream))
		}
	}
}

func FuzzPieces(f *testing.F) {
	for _, c := range streams {
		f.Add(c.stream, 3)
	}
	f.Fuzz(func(t *testing.T, stream string, size int) {
		if size < 1 || len(stream) > 1<<16 {
			return
		}
		if whole, pieces := all(t, stream, 0), all(t, stream, size); whole != pieces {
			t.Errorf("at once: %s, in pieces of %d: %s", whole, size, pieces)
		}
	})
}
