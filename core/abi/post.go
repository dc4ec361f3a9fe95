package abi

// OpPosted is the op of the command Posted in every object. The other commands of an object are numbered from 1, and those of
// package move are below OpPosted.
const OpPosted = 0x7f

// Post is an HTTP POST request of an object: a webhook. The host sends it after the transaction is committed,
// without following redirects and for at most PostTimeoutMs, discards the response body, and sends the object
// Posted. The host sends each Post once. The reducer decides about retries, and must also set an alarm, because
// a Post in flight is lost when its object is evicted. The host never logs the URL or the headers.
type Post struct {
	ID      string // repeated in Posted
	URL     string
	Headers []Header
	Body    []byte
}

// Limits of posts: the time until the response head, and the number in flight per object. Further posts wait.
const (
	PostTimeoutMs = 10_000
	PostsAtOnce   = 16
)

// Posted is the command that an object gets after one of its Posts.
type Posted struct {
	ID     string
	Status uint64 // HTTP status; 0: not sent, or no response
}

func (w *Writer) posts(posts []Post) {
	w.Uint(uint64(len(posts)))
	for i := range posts {
		p := &posts[i]
		w.String(p.ID)
		w.String(p.URL)
		w.headers(p.Headers)
		w.Bytes(p.Body)
	}
}

func (r *Reader) posts() []Post {
	var posts []Post
	for n := r.Count(); n > 0; n-- {
		posts = append(posts, Post{r.String(), r.String(), r.headers(), r.Bytes()})
	}
	return posts
}

// Encode returns the command, including its op.
func (p *Posted) Encode() []byte {
	var w Writer
	w.Uint(OpPosted)
	w.String(p.ID)
	w.Uint(p.Status)
	return w.Buf
}

// DecodePosted is the inverse of Encode.
func DecodePosted(command []byte) (Posted, error) {
	r := Reader{Buf: command}
	if r.Uint() != OpPosted {
		r.fail()
	}
	p := Posted{r.String(), r.Uint()}
	return p, r.End()
}
