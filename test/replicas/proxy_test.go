package replicas

import (
	"net"
	"sync"
	"testing"
)

// proxy forwards TCP connections. It can hold back all bytes, like a network that loses packets. It can also refuse
// connections.
type proxy struct {
	net.Listener
	target string
	mu     sync.Mutex
	resume *sync.Cond
	mode   mode
	open   map[net.Conn]bool
}

type mode int

const (
	passes  mode = iota
	stalls       // holds back every byte in both directions; connections are accepted
	refuses      // closes every connection at once
)

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: listener, target: target, open: map[net.Conn]bool{}}
	p.resume = sync.NewCond(&p.mu)
	t.Cleanup(func() {
		p.set(refuses)
		_ = listener.Close()
	})
	go p.accept()
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.Listener.Accept()
		if err != nil {
			return
		}
		go p.connect(client)
	}
}

func (p *proxy) connect(client net.Conn) {
	defer client.Close()
	if !p.wait() {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.add(client, server) {
		return
	}
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			p.copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done // when one direction ends, both end
	p.remove(client, server)
}

func (p *proxy) copy(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !p.wait() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait blocks while the proxy stalls. It returns false if the connection must be closed.
func (p *proxy) wait() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mode == stalls {
		p.resume.Wait()
	}
	return p.mode == passes
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == refuses {
		return false
	}
	for _, c := range conns {
		p.open[c] = true
	}
	return true
}

func (p *proxy) remove(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

func (p *proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == refuses {
		for c := range p.open {
			_ = c.Close()
		}
	}
	p.resume.Broadcast()
}
