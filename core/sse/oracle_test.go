package sse_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/sse"
)

// pieces are the elements of random streams. None of them is invalid UTF-8, which JavaScript strings cannot
// represent.
var pieces = []string{
	"data: ", "data:", "data", "event: ", "event:ping", "id: 1", "retry: 5", ":", ": comment", "x", "{\"a\":1}", " ", "é😀", "\u2028",
	"\n", "\n", "\r\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "data: [DONE]\n\n", "\uFEFF", "\x00", "foo: bar\n",
}

func randomStream(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(30) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	// Parsers differ in how they treat a carriage return at the end of the input, so a line feed follows.
	return b.String() + "\n"
}

// TestOracle compares the parser with eventsource-parser. JavaScript SDKs use that parser or one like it. Streams are
// parsed at once and byte by byte.
func TestOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	streams := []string{}
	for range 4000 {
		streams = append(streams, randomStream(r))
	}
	want := oracle(t, streams)
	events := 0
	for i, stream := range streams {
		events += len(want[i])
		for _, size := range []int{len(stream), 1} {
			if got := list(t, stream, size); !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("%q in pieces of %d: %q, want %q", stream, size, got, want[i])
			}
		}
	}
	if events < 1000 {
		t.Errorf("the streams have only %d events", events)
	}
}

func list(t *testing.T, stream string, size int) [][2]string {
	t.Helper()
	var p sse.Parser
	found := [][2]string{}
	for at := 0; at < len(stream); at += size {
		events, ok := p.Feed([]byte(stream[at:min(at+size, len(stream))]), false)
		if !ok {
			t.Fatalf("%q was rejected", stream)
		}
		for _, e := range events {
			found = append(found, [2]string{e.Name, string(e.Data)})
		}
	}
	return found
}

func oracle(t *testing.T, streams []string) [][][2]string {
	t.Helper()
	encoded := make([]string, len(streams))
	for i, s := range streams {
		encoded[i] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	input, _ := json.Marshal(encoded)
	command := exec.Command("node", "testdata/oracle.mjs")
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("node: %w", err))
	}
	var all [][][2]string
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
