package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// request is an HTTP request of send, burst or start.
type request struct {
	method, path, body string
	headers            map[string]string // keyed by lowercase name; the values of a repeated header are separate lines
	chunked            bool
	leave              int  // disconnect after this many bytes of the response body; 0: read everything
	release            bool // release the upstream when the response body has begun
}

// addressHeaders set the client's address. The first is for workerd, where the platform sets it. The second is for
// the other hosts, where a trusted proxy sets it.
var addressHeaders = []string{"cf-connecting-ip", "x-forwarded-for"}

func (x *run) request(s Step, args []string) request {
	r := request{method: args[0], path: x.expand(args[1]), headers: map[string]string{}, chunked: s.Options["chunked"] != ""}
	if key := s.Options["key"]; key != "" {
		r.headers["x-api-key"] = x.expand("$" + key)
	}
	r.leave, _ = strconv.Atoi(s.Options["leave"])
	r.release = s.Options["release"] != ""
	for _, name := range addressHeaders {
		if from := s.Options["from"]; from != "" {
			r.headers[name] = from
		}
	}
	written := map[string]bool{}
	for i, line := range s.Lines {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "body:") {
			body := strings.TrimSpace(strings.TrimPrefix(strings.Join(s.Lines[i:], "\n"), "body:"))
			r.body = x.expand(padded(s, body))
			break
		}
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(name), x.expand(padded(s, strings.TrimSpace(value)))
		if written[name] {
			value = r.headers[name] + "\n" + value
		}
		r.headers[name], written[name] = value, true
	}
	r.body = unescapeBytes(r.body)
	if contentType, given := r.headers["content-type"]; given && contentType == "" {
		delete(r.headers, "content-type")
	} else if r.body != "" && !given {
		r.headers["content-type"] = "application/json"
	}
	return r
}

// padded replaces PAD with as many x characters as the option "pad" specifies. It must run before expand, because a
// random key may contain "PAD".
func padded(s Step, body string) string {
	size, _ := strconv.Atoi(s.Options["pad"])
	return strings.Replace(body, "PAD", strings.Repeat("x", size), 1)
}

// unescapeBytes replaces \xNN with the byte. JSON does not have this escape.
func unescapeBytes(text string) string {
	return byteEscape.ReplaceAllStringFunc(text, func(escape string) string {
		n, _ := strconv.ParseUint(escape[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

var byteEscape = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// numbered replaces #N with the request's number.
func (r request) numbered(n int) request {
	r.body = strings.ReplaceAll(r.body, "#N", strconv.Itoa(n))
	return r
}

// send runs "send METHOD PATH [key=NAME] [from=ADDRESS] [times=N] [pad=N] [chunked=yes] [leave=N] [release=yes]". expect
// checks its last response.
func (x *run) send(s Step) (err error) {
	times := 1
	if n, given := s.Options["times"]; given {
		if times, err = strconv.Atoi(n); err != nil {
			return err
		}
	}
	for i := 0; i < times && err == nil; i++ {
		x.last, err = x.do(x.request(s, s.Args).numbered(i))
	}
	return errors.Join(err, x.settled())
}

// settled waits for the work that follows the responses, unless a request is in flight.
func (x *run) settled() error {
	if len(x.flights) > 0 {
		return nil
	}
	return x.control("settle", nil)
}

// start runs "start NAME METHOD PATH …": it is like send, but does not wait for the response.
func (x *run) start(s Step) error {
	answer := make(chan outcome, 1)
	ctx, leave := context.WithCancel(context.Background())
	x.flights[s.Args[0]] = startedRequest{answer, leave}
	r := x.request(s, s.Args[1:])
	go func() {
		got, err := x.doWhile(ctx, r)
		answer <- outcome{got, err}
	}()
	return nil
}

// leave runs "leave NAME": it disconnects the client of a started request before the response headers arrive.
func (x *run) leave(s Step) error {
	started, ok := x.flights[s.Args[0]]
	if !ok {
		return errors.New("no request with this name is in flight")
	}
	started.leave()
	got := <-started.answer
	delete(x.flights, s.Args[0])
	if got.err == nil {
		return fmt.Errorf("it already has a response: %d %s", got.status, got.body)
	}
	return nil
}

// join runs "join NAME": it waits for the response to a started request.
func (x *run) join(s Step) error {
	started, ok := x.flights[s.Args[0]]
	if !ok {
		return errors.New("no request with this name is in flight")
	}
	got := <-started.answer
	started.leave()
	delete(x.flights, s.Args[0])
	x.last = got.reply
	return errors.Join(got.err, x.settled())
}

// burst runs "burst N METHOD PATH …": it sends N requests at once.
func (x *run) burst(s Step) error {
	n, err := strconv.Atoi(s.Args[0])
	if err != nil {
		return err
	}
	r := x.request(s, s.Args[1:])
	x.batch = make([]reply, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { x.batch[i], errs[i] = x.do(r.numbered(i)) })
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), x.settled())
}

func (x *run) do(r request) (reply, error) { return x.doWhile(context.Background(), r) }

// testNow is the header with the virtual time for the control Worker of the test bundle.
const testNow = "x-test-now-ms"

// doWhile sends a request and disconnects when ctx ends.
func (x *run) doWhile(ctx context.Context, r request) (reply, error) {
	request, err := http.NewRequest(r.method, x.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		return reply{}, err
	}
	switch {
	case r.body == "":
		request.Body, request.ContentLength = nil, 0
	case r.chunked:
		request.ContentLength = -1
	}
	for name, values := range r.headers {
		for value := range strings.SplitSeq(values, "\n") {
			request.Header.Add(name, value)
		}
	}
	request.Header.Set(testNow, strconv.FormatInt(x.now.UnixMilli(), 10))
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	response, err := x.Client.Do(request.WithContext(ctx))
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	if r.leave > 0 {
		part := make([]byte, r.leave)
		n, err := io.ReadFull(response.Body, part)
		return reply{response.StatusCode, response.Header, part[:n]}, err
	}
	var begin []byte
	if r.release {
		begin = make([]byte, 1)
		_, err := io.ReadFull(response.Body, begin)
		if err = errors.Join(err, x.held(Step{Args: []string{"1"}})); err != nil {
			return reply{}, err
		}
		x.Upstream.Release()
	}
	rest, err := io.ReadAll(response.Body)
	answer := append(begin, rest...)
	if err != nil {
		return reply{}, err
	}
	if x.Check != nil {
		if err := x.Check(request, response, answer); err != nil {
			return reply{}, err
		}
	}
	return reply{response.StatusCode, response.Header, answer}, nil
}
