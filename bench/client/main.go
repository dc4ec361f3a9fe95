// Command client sends chat completions at a fixed rate, or sends streams back to back, and prints latencies as JSON.
//
// At a fixed rate, the load is open: requests are due at equal intervals, whether or not the server has answered the ones
// before. The latency of a request counts from the time at which the request was due, not from the time at which a
// connection was free. If the server stalls, all requests that were due in the meantime are late. This avoids coordinated
// omission.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	address     = flag.String("url", "", "URL of the endpoint")
	headers     = flag.String("headers", "", "request headers: name=value, separated by semicolons")
	prompt      = flag.String("prompt", "Say hello,", "beginning of the prompts; the upstream knows some words")
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

// summary is the output. Latencies are in milliseconds. Those without "first" count to the end of the response, and the
// others to the first byte of the body. Buckets are those of the histogram.
type summary struct {
	Requests int          `json:"requests"`
	Errors   int          `json:"errors"`
	Failed   int          `json:"failed"` // the same number, under the name that load.lua prints
	Seconds  float64      `json:"seconds"`
	P50      float64      `json:"p50ms"`
	P99      float64      `json:"p99ms"`
	FirstP50 float64      `json:"firstP50ms"`
	FirstP99 float64      `json:"firstP99ms"`
	Buckets  [][2]float64 `json:"buckets"`
}

func main() {
	flag.Parse()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: *connections, MaxIdleConnsPerHost: *connections}}
	results := make([]result, *count)
	var jobs sync.WaitGroup
	start := time.Now()
	jobsDue := make(chan job, *count) // holds all jobs, so that a slow server does not delay later jobs
	for range *connections {
		jobs.Go(func() {
			for j := range jobsDue {
				results[j.number] = send(client, j)
			}
		})
	}
	pace(start, jobsDue)
	jobs.Wait()
	s, problem := summarize(results, time.Since(start))
	if problem != "" {
		log.Fatal(problem)
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		log.Fatal(err)
	}
}

// job is a request and the time at which it is due.
type job struct {
	number int
	due    time.Time // zero: as soon as a connection is free
}

// pace hands out the jobs when they are due. It sleeps in a thread of its own, because the timers of Go's scheduler may
// fire a millisecond late.
func pace(start time.Time, jobsDue chan<- job) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(jobsDue)
	for i := range *count {
		j := job{number: i}
		if *rate > 0 {
			j.due = start.Add(time.Duration(float64(i) / *rate * float64(time.Second)))
			for wait := time.Until(j.due); wait > 0; wait = time.Until(j.due) {
				interval := syscall.NsecToTimespec(int64(wait))
				_ = syscall.Nanosleep(&interval, nil) // a signal may end it early
			}
		}
		jobsDue <- j
	}
}

func send(client *http.Client, j job) (r result) {
	due := j.due
	if due.IsZero() {
		due = time.Now()
	}
	body := fmt.Sprintf(`{"model":"gpt-4.1-mini","stream":%t,"messages":[{"role":"user","content":"%s %s %d."}]}`, *rate == 0, *prompt, *name, j.number)
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
	var total, first histogram
	for _, r := range results {
		if r.failure == "" {
			total.add(r.total)
			first.add(r.first)
		} else {
			s.Failed, problem = s.Failed+1, r.failure
		}
	}
	s.P50, s.P99 = total.percentile(50), total.percentile(99)
	s.FirstP50, s.FirstP99 = first.percentile(50), first.percentile(99)
	s.Buckets = total.buckets()
	if s.Errors = s.Failed; s.Failed > 0 && !*peer {
		return s, fmt.Sprintf("%d of %d requests failed, the last one: %s", s.Failed, len(results), problem)
	}
	return s, ""
}
