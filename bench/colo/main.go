// Command colo is the benchmark's data center cache: the service that workerd's Cache API calls. It prints its port.
//
// workerd sends GET to match and PUT to store. The body of a PUT is an HTTP/1.1 response with its head
// (github.com/cloudflare/workerd, src/workerd/api/cache.c++). GET /count returns the number of each as JSON.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxResponses bounds the memory of a long run. The oldest response is evicted first.
const maxResponses = 20_000

type stored struct {
	header  http.Header
	body    []byte
	expires time.Time
}

// cache is safe for concurrent use.
type cache struct {
	mu           sync.Mutex
	responses    map[string]stored
	order        []string // keys, oldest first
	reads, write int
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, &cache{responses: map[string]stored{}}))
}

func (c *cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Host + r.URL.RequestURI()
	switch r.Method {
	case http.MethodPut:
		c.put(w, r, key)
	case http.MethodGet:
		if r.URL.Path == "/count" && strings.HasPrefix(r.Host, "127.0.0.1:") {
			c.count(w)
			return
		}
		c.match(w, key)
	default: // PURGE
		c.mu.Lock()
		delete(c.responses, key)
		c.mu.Unlock()
	}
}

func (c *cache) put(w http.ResponseWriter, r *http.Request, key string) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	life := lifetime(response.Header.Get("Cache-Control"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write++
	if _, ok := c.responses[key]; !ok {
		c.order = append(c.order, key)
	}
	c.responses[key] = stored{response.Header, body, time.Now().Add(life)}
	if len(c.order) > maxResponses {
		delete(c.responses, c.order[0])
		c.order = c.order[1:]
	}
	w.WriteHeader(http.StatusNoContent)
}

// lifetime returns max-age. Without it, a response expires immediately.
func lifetime(control string) time.Duration {
	for directive := range strings.SplitSeq(control, ",") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(directive), "max-age="); ok {
			seconds, _ := strconv.Atoi(value)
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

func (c *cache) match(w http.ResponseWriter, key string) {
	c.mu.Lock()
	c.reads++
	response, ok := c.responses[key]
	c.mu.Unlock()
	if !ok || !time.Now().Before(response.expires) {
		w.Header().Set("CF-Cache-Status", "MISS")
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	}
	for name, values := range response.header {
		w.Header()[name] = values
	}
	w.Header().Set("CF-Cache-Status", "HIT")
	w.Header().Set("Content-Length", strconv.Itoa(len(response.body)))
	_, _ = w.Write(response.body)
}

func (c *cache) count(w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(w, `{"reads":%d,"writes":%d}`, c.reads, c.write)
}
