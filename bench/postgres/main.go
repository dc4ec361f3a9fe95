// Command postgres runs a PostgreSQL server for the benchmark of `postern serve`, with an empty database that waits for the
// disk. It prints the database's URL, and removes the server when its standard input ends.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/postern-ai/postern/test/pgtest"
)

func main() {
	server, err := pgtest.New("fsync=on", "synchronous_commit=on", "full_page_writes=on")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(server.URL("postgres"))
	_, _ = io.Copy(io.Discard, os.Stdin)
	server.Remove()
}
