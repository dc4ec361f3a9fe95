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

// request is what a send, burst or start sends: its block is header lines, then the body.
type request struct {
	method, path, body string
	headers            map[string]string
	chunked            bool
	leave              int // the caller leaves after so many bytes of the answer; 0: it stays
}

// addressHeaders tell a host under test the caller's address: workerd as the platform would, the others as a proxy
// that they trust.
var addressHeaders = []string{"cf-connecting-ip", "x-forwarded-for"}

func (x *run) request(s Step, args []string) request {
	r := request{method: args[0], path: x.expand(args[1]), headers: map[string]string{}, chunked: s.Options["chunked"] != ""}
	if key := s.Options["key"]; key != "" {
		r.headers["x-api-key"] = x.expand("$" + key)
	}
	r.leave, _ = strconv.Atoi(s.Options["leave"])
	for _, name := range addressHeaders {
		if from := s.Options["from"]; from != "" {
			r.headers[name] = from
		}
	}
	for i, line := range s.Lines {
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "body:") {
			r.body = x.expand(strings.TrimSpace(strings.TrimPrefix(strings.Join(s.Lines[i:], "\n"), "body:")))
			break
		}
		name, value, _ := strings.Cut(line, ":")
		r.headers[strings.ToLower(name)] = padded(s, x.expand(strings.TrimSpace(value)))
	}
	r.body = unescapeBytes(padded(s, r.body))
	if contentType, given := r.headers["content-type"]; given && contentType == "" {
		delete(r.headers, "content-type")
	} else if r.body != "" && !given {
		r.headers["content-type"] = "application/json"
	}
	return r
}

// padded puts so many x in the place of PAD.
func padded(s Step, body string) string {
	size, _ := strconv.Atoi(s.Options["pad"])
	return strings.Replace(body, "PAD", strings.Repeat("x", size), 1)
}

// unescapeBytes makes \xNN, which JSON does not have, a byte.
func unescapeBytes(text string) string {
	return byteEscape.ReplaceAllStringFunc(text, func(escape string) string {
		n, _ := strconv.ParseUint(escape[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

var byteEscape = regexp.MustCompile(`\\x[0-9a-f]{2}`)

// numbered puts the request's number in the place of #N.
func (r request) numbered(n int) request {
	r.body = strings.ReplaceAll(r.body, "#N", strconv.Itoa(n))
	return r
}

// send METHOD PATH [key=NAME] [from=ADDRESS] [times=N] [pad=N] [chunked=yes] [leave=N]: its answer, the last one, is what expect
// looks at.
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

// settled waits for what goes on after the answers, unless a request is in flight.
func (x *run) settled() error {
	if len(x.flights) > 0 {
		return nil
	}
	return x.control("settle", nil)
}

// start NAME METHOD PATH …: like send, but does not wait for the answer.
func (x *run) start(s Step) error {
	answer := make(chan flight, 1)
	ctx, leave := context.WithCancel(context.Background())
	x.flights[s.Args[0]] = underway{answer, leave}
	r := x.request(s, s.Args[1:])
	go func() {
		got, err := x.doWhile(ctx, r)
		answer <- flight{got, err}
	}()
	return nil
}

// leave NAME: the caller of what was started leaves without having had a head.
func (x *run) leave(s Step) error {
	started, ok := x.flights[s.Args[0]]
	if !ok {
		return errors.New("no such request in flight")
	}
	started.leave()
	got := <-started.answer
	delete(x.flights, s.Args[0])
	if got.err == nil {
		return fmt.Errorf("it was answered before: %d %s", got.status, got.body)
	}
	return nil
}

// join NAME: waits for the answer of what was started.
func (x *run) join(s Step) error {
	started, ok := x.flights[s.Args[0]]
	if !ok {
		return errors.New("no such request in flight")
	}
	got := <-started.answer
	started.leave()
	delete(x.flights, s.Args[0])
	x.last = got.reply
	return errors.Join(got.err, x.settled())
}

// burst N METHOD PATH …: N at once.
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

// testNow tells the control Worker of a test bundle what time it is.
const testNow = "x-test-now-ms"

// doWhile sends a request whose caller stays until ctx ends.
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
	for name, value := range r.headers {
		request.Header.Set(name, value)
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
	answer, err := io.ReadAll(response.Body)
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
