// The upstream of the benchmark: a provider that answers every chat completion with the same text at once,
// over connections that stay open, or with a stream of 500 chunks: a millisecond apart if the prompt begins
// with "paced", else as fast as they can be written. Prints its port; GET /count tells how many completions it was asked for.
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
	strings.Repeat("A gateway at the edge answers before the caller has noticed that it was asked. ", 5))

const chunks = 500

// stream sends each chunk on its own. Between two it waits by the clock, not by a timer's whim.
func stream(w http.ResponseWriter, paced bool) {
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
		send(i, `"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null`)
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
		// A connection is kept only if its request was read to the end.
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"stream":true`)) {
			stream(w, bytes.Contains(body, []byte(`"paced `)))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(completion)))
		_, _ = io.WriteString(w, completion)
	})
	http.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, count.Load()) })
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
