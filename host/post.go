package host

import (
	"bytes"
	"net/http"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// postClient sends Posts, each on a new connection. On a reused one net/http may retry the request, but a Post must be
// sent at most once.
var postClient = newPostClient(abi.PostTimeoutMs * time.Millisecond)

func newPostClient(timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &http.Client{Transport: transport, CheckRedirect: noRedirect, Timeout: timeout}
}

// noRedirect makes a client return redirects instead of following them.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// sendPost returns the response status, or 0 if there was no response. It drops the error, which contains the URL.
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

// post sends a command's posts in the background and reports each result to the object. If that report fails, the
// object's own alarm notices.
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

// follow runs a command's deliveries and posts, after its reply.
func (o *MemoryObjects) follow(id objectID, out abi.ObjectOutput) {
	if out.Deliver {
		o.working.Go(func() { o.deliver(id) })
	}
	o.post(id, out.Posts)
}
