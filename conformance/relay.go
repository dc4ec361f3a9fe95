package conformance

import (
	"net"
	"sync"
)

// relay accepts connections on one address and passes each to the current server, so that the address survives a
// change of server.
type relay struct {
	net.Listener
	mu      sync.Mutex
	current *branch
}

// newRelay listens on a free port of the loopback interface.
func newRelay() (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{Listener: listener}
	go r.accept()
	return r, nil
}

func (r *relay) accept() {
	for {
		conn, err := r.Listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		to := r.current
		r.mu.Unlock()
		to.pass(conn)
	}
}

// branch returns a listener that gets the connections from now on.
func (r *relay) branch() net.Listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = &branch{addr: r.Addr(), conns: make(chan net.Conn), closed: make(chan struct{})}
	return r.current
}

// branch is the listener of one server.
type branch struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// pass waits until the server accepts the connection, and closes it if the server has ended.
func (b *branch) pass(conn net.Conn) {
	select {
	case b.conns <- conn:
	case <-b.closed:
		_ = conn.Close()
	}
}

func (b *branch) Accept() (net.Conn, error) {
	select {
	case conn := <-b.conns:
		return conn, nil
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

func (b *branch) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func (b *branch) Addr() net.Addr { return b.addr }
