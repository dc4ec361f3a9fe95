// Command reverseproxy is the baseline for the self-hosted server: a proxy in front of the upstream, with the transport
// that Postern uses. Its arguments are the upstream's URL and the kind of proxy. "blocks" is an httputil.ReverseProxy,
// which copies blocks of bytes. "events" is a proxy that reads each event of a stream (see eventProxy). It prints its
// port.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/postern-ai/postern/host"
)

func main() {
	upstream, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	handler, known := map[string]func(*url.URL) http.Handler{
		"blocks": newReverseProxy,
		"events": newEventProxy,
	}[os.Args[2]]
	if !known {
		log.Fatalf("unknown kind of proxy: %s", os.Args[2])
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := http.Server{Handler: handler(upstream), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

func newReverseProxy(upstream *url.URL) http.Handler {
	// A round of load ends with requests in progress, whose errors are expected.
	quiet := log.New(io.Discard, "", 0)
	proxy := &httputil.ReverseProxy{Transport: host.NewTransport(), ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Header.Set("Authorization", "Bearer sk-bench")
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise, net/http closes the request body when the response begins. If the transport then looks for the end
		// of the body, it closes the upstream's connection.
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
}
