package postgres

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/postern-ai/postern/test/pgtest"
)

// TestProbeTriesAllHosts: a silent server does not hide one that responds.
func TestProbeTriesAllHosts(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	server, name, _ := newDatabase(t)
	config, err := pgxpool.ParseConfig(pgtest.URLAt(silent.Addr().String()+","+server.Address(), name))
	if err != nil {
		t.Fatal(err)
	}
	p := startProbe(t.Context(), hosts(config.ConnConfig))
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	select {
	case err := <-p.ended:
		t.Fatalf("the probe ended with %v although a server is silent", err)
	default:
	}
	p.skip()
	if err := <-p.ended; err != nil {
		t.Errorf("got %v", err)
	}
}
