package host

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// postClient sends Posts, each on a new connection. On a reused connection, net/http may retry the request, but a
// Post must be sent at most once.
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
func (o *StoredObjects) post(id store.Object, posts []abi.Post) {
	for i := range posts {
		a := o.begin(id)
		background(&o.working, o.Panicked, func() {
			defer o.end(id)
			a.posting <- struct{}{}
			o.Stats.Fetches.Add(1)
			posted := abi.Posted{ID: posts[i].ID, Status: sendPost(postClient, &posts[i])}
			<-a.posting
			if posted.Status == 0 {
				o.Stats.PostFailures.Add(1)
			}
			if out, err := o.run(context.Background(), id, posted.Encode()); err == nil {
				o.follow(id, out)
			}
		})
	}
}
