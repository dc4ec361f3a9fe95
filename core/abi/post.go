package abi

// OpPosted is the op of Posted among every object's commands, which the reducers number from 1.
const OpPosted = 0x7f

// Post is an HTTP POST that an object asks for: a webhook. After the transaction is committed the host sends
// it, without following redirects and for at most PostTimeoutMs, discards the answer's body, and gives the
// object Posted. It sends each once and decides nothing: whether and when a Post goes out again is the
// reducer's to say, which must set an alarm as well, because a Post under way ends with its object. Neither
// the URL nor the headers reach the host's log.
type Post struct {
	ID      string // comes back in Posted
	URL     string
	Headers []Header
	Body    []byte
}

// Bounds of posting: how long one may take, answer's head included, and how many of one object's are under
// way at the same time; more wait their turn.
const (
	PostTimeoutMs = 10_000
	PostsAtOnce   = 16
)

// Posted is the command that an object is given when a Post of its own is over.
type Posted struct {
	ID     string
	Status uint64 // HTTP's; 0: no answer came, or nothing could be sent
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

// Encode is the whole command, its op included.
func (p *Posted) Encode() []byte {
	var w Writer
	w.Uint(OpPosted)
	w.String(p.ID)
	w.Uint(p.Status)
	return w.Buf
}

// DecodePosted reads what Encode wrote.
func DecodePosted(command []byte) (Posted, error) {
	r := Reader{Buf: command}
	if r.Uint() != OpPosted {
		r.fail()
	}
	p := Posted{r.String(), r.Uint()}
	return p, r.End()
}
