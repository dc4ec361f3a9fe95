// Command growth writes a deployment of a given size to a file that `postern import` reads. It prints as JSON what a
// measurement needs to know about the deployment.
//
// The rows are those of the core: the meters, the ledgers and the Directory run their own reducers on a clock that
// covers the time before the present. What a measurement needs that no reducer makes is the text of audit entries.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"github.com/postern-ai/postern/core/doc"
)

// size is the size of a deployment.
type size struct {
	Projects     int `json:"projects"`
	Keys         int `json:"keys"`
	Requests     int `json:"requests"`
	AuditEntries int `json:"auditEntries"`
	Groups       int `json:"groups"`
}

// whole is the deployment at scale 1.
var whole = size{Projects: 5000, Keys: 100_000, Requests: 1_000_000, AuditEntries: 1_000_000, Groups: 200}

func (s size) scaled(by float64) size {
	of := func(n, least int) int { return max(least, int(float64(n)*by)) }
	return size{of(s.Projects, 10), of(s.Keys, 100), of(s.Requests, 1000), of(s.AuditEntries, 1000), of(s.Groups, 2)}
}

// report is the program's output.
type report struct {
	size
	Large      string   `json:"large"`      // ID of the project with the most keys and requests
	LargeKey   string   `json:"largeKey"`   // ID of one of its keys
	LargeHash  string   `json:"largeHash"`  // of that key
	Small      string   `json:"small"`      // ID of another project, in a group
	Last       string   `json:"last"`       // ID of the newest project
	Group      string   `json:"group"`      // ID of a group with projects
	Request    string   `json:"request"`    // ID of a request of the newest project
	Violations int      `json:"violations"` // recorded
	Cold       []string `json:"cold"`       // keys without a request, of projects without groups
	Bytes      int64    `json:"bytes"`      // of the file
}

// deployment is the state of a run.
type deployment struct {
	size
	random *rand.Rand
	now    uint64 // Unix milliseconds: the end of the covered time
	groups []doc.Group
	report report
}

func main() {
	scale := flag.Float64("scale", 1, "size, as a share of 5,000 projects, 100,000 keys, 1,000,000 requests and 1,000,000 audit entries")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	d := &deployment{size: whole.scaled(*scale), random: rand.New(rand.NewPCG(1, 2)), now: uint64(time.Now().UnixMilli())}
	d.report.size = d.size
	if err := d.write(*out); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(&d.report); err != nil {
		log.Fatal(err)
	}
}

func (d *deployment) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	f := newFile(file)
	projects := d.makeProjects()
	d.writeDirectory(f, projects)
	d.writeObjects(f, projects)
	f.end()
	d.report.Bytes = f.bytes
	if err := f.flush(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return file.Close()
}

// check stops the program. The rows come from this program, so an error is a fault of it.
func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
