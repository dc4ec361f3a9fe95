// Package freeport finds ports for servers that a test starts, and perhaps starts again.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Port returns an unused port of 127.0.0.1. Systems give higher ports to outgoing connections, so none of them takes it
// before the server does.
func Port() (int, error) {
	for {
		port := 10_000 + rand.IntN(20_000)
		listener, err := net.Listen("tcp", address(port))
		switch {
		case err == nil:
			return port, listener.Close()
		case !errors.Is(err, syscall.EADDRINUSE):
			return 0, err
		}
	}
}

// Address returns an unused address on 127.0.0.1.
func Address() (string, error) {
	port, err := Port()
	return address(port), err
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
