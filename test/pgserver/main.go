// Command pgserver runs a PostgreSQL server for the benchmark of `postern serve`, with an empty database that waits for the
// disk. It prints the database's URL and PostgreSQL's version, and removes the server when it gets a signal to end.
package main

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/postern-ai/postern/test/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server, err := pgtest.New("fsync=on")
	if err != nil {
		log.Fatal(err)
	}
	version, err := server.Query(ctx, "postgres", "SHOW server_version")
	if err != nil {
		server.Remove()
		log.Fatal(err)
	}
	fmt.Println(server.URL("postgres"), version)
	<-ctx.Done()
	server.Remove()
}
