// Command upstream is the benchmark's provider. It responds to every chat completion with the same text or with a
// stream of 500 chunks. If the prompt begins with "slow", there is a pause before the text. If the prompt begins with
// "paced", the stream has one chunk per millisecond. Otherwise, the chunks are sent as fast as possible. It prints
// its port. GET /count returns the number of completions requested.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var completion = fmt.Sprintf(`{"id":"chatcmpl-bench","object":"chat.completion","created":1790000000,"model":"gpt-4.1-mini",`+
	`"choices":[{"index":0,"message":{"role":"assistant","content":%q},"logprobs":null,"finish_reason":"stop"}],`+
	`"usage":{"prompt_tokens":93,"completion_tokens":81,"total_tokens":174}}`,
	strings.Repeat("An edge gateway adds a few milliseconds to a request that takes a few seconds. ", 5))

const chunks = 500

// briefChunks is the length of a stream if the prompt begins with "brief".
const briefChunks = 5

// slow is the pause before the text if the prompt begins with "slow".
const slow = 500 * time.Millisecond

// passage is the text of a stream, sent in chunks of 40 bytes, if the prompt begins with "passage".
const passage = " Edge gateways add milliseconds to calls."

// stream sends chunks one by one. Pacing follows the wall clock, so timer jitter does not add up.
func stream(w http.ResponseWriter, text string, chunks int, paced bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	start := time.Now()
	send := func(i int, rest string) {
		if paced {
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Millisecond)))
		}
		_, _ = fmt.Fprintf(w, `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1790000000,"model":"gpt-4.1-mini",`+
			`"service_tier":"default","system_fingerprint":"fp_0123456789",%s}`+"\n\n", rest)
		_ = flush.Flush()
	}
	for i := range chunks {
		send(i, `"choices":[{"index":0,"delta":{"content":"`+text+`"},"logprobs":null,"finish_reason":null}],"usage":null`)
	}
	send(chunks, `"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null`)
	send(chunks, `"choices":[],"usage":{"prompt_tokens":93,"completion_tokens":500,"total_tokens":593}`)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var count atomic.Int64
	http.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		// Go keeps a connection alive only if the request body was read to the end.
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"stream":true`)) {
			switch {
			case bytes.Contains(body, []byte(`"passage `)):
				stream(w, passage, chunks/5, false)
			case bytes.Contains(body, []byte(`"brief `)):
				stream(w, " word", briefChunks, false)
			default:
				stream(w, " word", chunks, bytes.Contains(body, []byte(`"paced `)))
			}
			return
		}
		if bytes.Contains(body, []byte(`"slow `)) {
			time.Sleep(slow)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(completion)))
		_, _ = io.WriteString(w, completion)
	})
	http.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, count.Load()) })
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
