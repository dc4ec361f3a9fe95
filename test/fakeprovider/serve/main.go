// Command serve runs the fake provider for tests that are not written in Go. It prints
// {"url":"http://127.0.0.1:PORT"} on one line and serves until its standard input ends.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/postern-ai/postern/test/fakeprovider"
)

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1; 0 picks a free one")
	awsSecret := flag.String("aws-secret", "", "verify Bedrock signatures with this secret")
	flag.Parse()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := fakeprovider.NewAt(listener)
	s.AWSSecret = *awsSecret
	fmt.Printf("{\"url\":%q}\n", s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Close()
}
