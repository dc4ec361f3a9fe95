package host

import (
	"bytes"
	"net/http"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// postClient sends Posts. Every one has a connection of its own: on one that is used again the transport may
// send a request twice, and a host never repeats a Post.
var postClient = newPostClient(abi.PostTimeoutMs * time.Millisecond)

func newPostClient(timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, CheckRedirect: stay, Timeout: timeout}
}

// stay follows no redirect.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sendPost gives the status of the answer, 0 if none came. The error is dropped: it holds the URL.
func sendPost(client *http.Client, p *abi.Post) uint64 {
	request, err := http.NewRequest(http.MethodPost, p.URL, bytes.NewReader(p.Body))
	if err != nil {
		return 0
	}
	for _, header := range p.Headers {
		request.Header.Add(header.Name, header.Value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return uint64(response.StatusCode)
}

// post sends what a command asked for, beside everything else, and tells the object what came of each. If
// the object cannot take that, its own alarm finds out.
func (o *MemoryObjects) post(id objectID, posts []abi.Post) {
	turns := o.object(id).posting
	for i := range posts {
		o.working.Go(func() {
			turns <- struct{}{}
			o.Stats.Fetches.Add(1)
			posted := abi.Posted{ID: posts[i].ID, Status: sendPost(postClient, &posts[i])}
			<-turns
			if out, err := o.run(id, posted.Encode()); err == nil {
				o.follow(id, out)
			}
		})
	}
}

// follow does what a command left to be done after its reply.
func (o *MemoryObjects) follow(id objectID, out abi.ObjectOutput) {
	if out.Deliver {
		o.working.Go(func() { o.deliver(id) })
	}
	o.post(id, out.Posts)
}
