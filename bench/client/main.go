// Command client sends chat completions at a fixed rate, or sends streams back to back, and prints latencies as JSON.
//
// At a fixed rate, the latency of a request counts from the time at which the request was due, not from the time at
// which a connection was free. If the server stalls, all requests that were due in the meantime are late. This avoids
// coordinated omission.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	address     = flag.String("url", "", "URL of the endpoint")
	headers     = flag.String("headers", "", "request headers: name=value, separated by semicolons")
	name        = flag.String("name", "", "name of the round, so that no two rounds send the same prompts")
	connections = flag.Int("connections", 64, "maximum number of connections")
	rate        = flag.Float64("rate", 0, "requests per second; 0: streams, one after the other on each connection")
	count       = flag.Int("count", 1000, "number of requests")
	peer        = flag.Bool("peer", false, "count wrong responses instead of ending with an error")
)

// result is the outcome of one request. The times of a failed request are ignored.
type result struct {
	first, total time.Duration
	failure      string
}

// summary is the output. Latencies are in milliseconds. first is the time to the first byte of the body.
type summary struct {
	Requests int     `json:"requests"`
	Errors   int     `json:"errors"`
	Failed   int     `json:"failed"` // the same number, under the name that load.lua prints
	Seconds  float64 `json:"seconds"`
	P50      float64 `json:"p50ms"`
	P99      float64 `json:"p99ms"`
	FirstP50 float64 `json:"firstP50ms"`
}

func main() {
	flag.Parse()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: *connections, MaxIdleConnsPerHost: *connections}}
	results := make([]result, *count)
	var jobs sync.WaitGroup
	start := time.Now()
	numbers := make(chan int, *count)
	for i := range *count {
		numbers <- i
	}
	close(numbers)
	for range *connections {
		jobs.Go(func() {
			for i := range numbers {
				due := time.Now()
				if *rate > 0 {
					due = start.Add(time.Duration(float64(i) / *rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
				results[i] = send(client, i, due)
			}
		})
	}
	jobs.Wait()
	s, problem := summarize(results, time.Since(start))
	if problem != "" {
		log.Fatal(problem)
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		log.Fatal(err)
	}
}

func send(client *http.Client, i int, due time.Time) (r result) {
	body := fmt.Sprintf(`{"model":"gpt-4.1-mini","stream":%t,"messages":[{"role":"user","content":"Say hello, %s %d."}]}`, *rate == 0, *name, i)
	request, err := http.NewRequest(http.MethodPost, *address, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for pair := range strings.SplitSeq(*headers, ";") {
		field, value, _ := strings.Cut(pair, "=")
		request.Header.Set(field, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return result{failure: err.Error()}
	}
	defer response.Body.Close()
	var text [1]byte
	_, err = io.ReadFull(response.Body, text[:])
	r.first = time.Since(due)
	rest, readErr := io.ReadAll(response.Body)
	r.total = time.Since(due)
	complete := *rate > 0 || strings.HasSuffix(string(rest), "data: [DONE]\n\n")
	if err != nil || readErr != nil || response.StatusCode != http.StatusOK || !complete {
		r.failure = fmt.Sprintf("%s: %s, %v, %v, complete: %t: %.300s", *address, response.Status, err, readErr, complete, rest)
	}
	return r
}

// summarize returns the summary. If a request to a server that is not a peer failed, the run is invalid and problem
// describes the failure. If every request to a peer failed, the latencies are 0.
func summarize(results []result, took time.Duration) (s summary, problem string) {
	s.Requests, s.Seconds = len(results), took.Seconds()
	var served []result
	for _, r := range results {
		if r.failure == "" {
			served = append(served, r)
		} else {
			s.Failed, problem = s.Failed+1, r.failure
		}
	}
	if s.Errors = s.Failed; s.Failed > 0 && !*peer {
		return s, fmt.Sprintf("%d of %d requests failed, the last one: %s", s.Failed, len(results), problem)
	}
	if len(served) == 0 {
		return s, ""
	}
	total := func(r result) time.Duration { return r.total }
	s.P50, s.P99 = percentile(served, total, 50), percentile(served, total, 99)
	s.FirstP50 = percentile(served, func(r result) time.Duration { return r.first }, 50)
	return s, ""
}

func percentile(results []result, of func(result) time.Duration, p int) float64 {
	all := make([]time.Duration, len(results))
	for i, r := range results {
		all[i] = of(r)
	}
	slices.Sort(all)
	return float64(all[(len(all)-1)*p/100].Microseconds()) / 1000
}
