// The upstream of the benchmark: a provider that answers every chat completion with the same text at once,
// over connections that stay open. Prints its port; GET /count tells how many completions it was asked for.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

var completion = fmt.Sprintf(`{"id":"chatcmpl-bench","object":"chat.completion","created":1790000000,"model":"gpt-4.1-mini",`+
	`"choices":[{"index":0,"message":{"role":"assistant","content":%q},"logprobs":null,"finish_reason":"stop"}],`+
	`"usage":{"prompt_tokens":93,"completion_tokens":81,"total_tokens":174}}`,
	strings.Repeat("A gateway at the edge answers before the caller has noticed that it was asked. ", 5))

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	var count atomic.Int64
	http.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		// A connection is kept only if its request was read to the end.
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(completion)))
		_, _ = io.WriteString(w, completion)
	})
	http.HandleFunc("GET /count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, count.Load()) })
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
