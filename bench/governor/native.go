//go:build !tinygo

// Command governor compares the speed of the Governor's scan with that of SHA-256. As a WebAssembly module, it
// exports both for the benchmark to call. Natively, it prints the times for the given files as JSON.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/postern-ai/postern/core/governor"
)

// measured contains the shortest times for one file, in milliseconds.
type measured struct {
	ScanMs float64 `json:"scanMs"`
	HashMs float64 `json:"hashMs"`
}

func main() {
	rules := governor.AllRules()
	var all []measured
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		all = append(all, measured{
			shortest(func() { governor.Scan(text, rules, nil) }),
			shortest(func() { sha256.Sum256(text) }),
		})
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}

// shortest returns the time of the shortest of many runs. Other processes disturbed that run least.
func shortest(work func()) float64 {
	best := time.Hour
	for deadline := time.Now().Add(300 * time.Millisecond); time.Now().Before(deadline); {
		start := time.Now()
		work()
		best = min(best, time.Since(start))
	}
	return best.Seconds() * 1000
}
