// Command reverseproxy is the baseline for the self-hosted server: an httputil.ReverseProxy in front of the upstream,
// with the transport that Postern uses. Its argument is the upstream's URL. It prints its port.
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
	// A round of load ends with requests in progress, whose errors are expected.
	quiet := log.New(io.Discard, "", 0)
	proxy := &httputil.ReverseProxy{Transport: host.NewTransport(), ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(upstream)
		r.Out.Header.Set("Authorization", "Bearer sk-bench")
	}}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
