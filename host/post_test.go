package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
)

// poster runs objects with two commands. "post" writes a row and sends posts. "look" returns the row. An alarm sends
// the posts as well.
type poster struct {
	*StoredObjects
	mu       sync.Mutex
	posted   []abi.Posted                               // Posted commands so far
	onPosted func(abi.Posted) (abi.ObjectOutput, error) // handles a Posted command; optional
}

func newPoster(posts ...abi.Post) *poster {
	p := &poster{}
	clock := fixedClock(1000)
	p.StoredObjects = &StoredObjects{Store: memory.New(&clock), Stats: &Stats{}, Engine: &stub{apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
		switch string(in.Command) {
		case "look":
			return abi.ObjectOutput{Reply: in.Rows[0].Value}, nil
		case "post":
			return abi.ObjectOutput{Puts: []abi.Row{{Key: "row", Value: []byte("committed")}}, Reply: []byte("reply"), Posts: posts}, nil
		case "":
			return abi.ObjectOutput{Posts: posts}, nil
		}
		return p.handlePosted(in.Command)
	}}}
	return p
}

func (p *poster) handlePosted(command []byte) (abi.ObjectOutput, error) {
	posted, err := abi.DecodePosted(command)
	if err != nil {
		return abi.ObjectOutput{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posted = append(p.posted, posted)
	if p.onPosted != nil {
		return p.onPosted(posted)
	}
	return abi.ObjectOutput{}, nil
}

// send runs "post" and returns the resulting Posted commands in order of ID.
func (p *poster) send(t *testing.T) []abi.Posted {
	t.Helper()
	reply, err := p.Call(t.Context(), abi.ClassLedger, "prj_1", "", []byte("post"))
	if string(reply) != "reply" || err != nil {
		t.Fatalf("reply %q, %v", reply, err)
	}
	p.Wait()
	slices.SortFunc(p.posted, func(a, b abi.Posted) int { return strings.Compare(a.ID, b.ID) })
	return p.posted
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestPost(t *testing.T) {
	var p *poster
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		row, _ := p.Call(r.Context(), abi.ClassLedger, "prj_1", "", []byte("look"))
		got := fmt.Sprintf("%s %s %s %q %q %s", r.Method, r.URL, row, r.Header["X-A"], r.Header["Content-Type"], body)
		if want := `POST /hook?a=b committed ["1"] ["application/json"] {"n":1}`; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	headers := []abi.Header{{Name: "x-a", Value: "1"}, {Name: "content-type", Value: "application/json"}}
	p = newPoster(abi.Post{ID: "1", URL: url + "/hook?a=b", Headers: headers, Body: []byte(`{"n":1}`)})
	if got, want := p.send(t), []abi.Posted{{ID: "1", Status: 202}}; !slices.Equal(got, want) {
		t.Errorf("the object got %v, want %v", got, want)
	}
	if n := p.Stats.Fetches.Load(); n != 1 {
		t.Errorf("%d fetches counted, want 1", n)
	}
}

func TestPostStatuses(t *testing.T) {
	var hits atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/broken":
			panic(http.ErrAbortHandler)
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	})
	p := newPoster(
		abi.Post{ID: "1", URL: url + "/moved"}, abi.Post{ID: "2", URL: url + "/broken"}, abi.Post{ID: "3", URL: url + "/endless"},
		abi.Post{ID: "4", URL: url}, abi.Post{ID: "5", URL: "http://127.0.0.1:1/"}, abi.Post{ID: "6", URL: "\x00"},
		abi.Post{ID: "7", URL: url, Headers: []abi.Header{{Name: "bad name", Value: "x"}}},
	)
	want := []abi.Posted{{ID: "1", Status: 307}, {ID: "2"}, {ID: "3", Status: 200}, {ID: "4", Status: 418}, {ID: "5"}, {ID: "6"}, {ID: "7"}}
	if got := p.send(t); !slices.Equal(got, want) {
		t.Errorf("the object got %v, want %v", got, want)
	}
	if n := hits.Load(); n != 4 {
		t.Errorf("the server got %d requests, want 4: each sent once, no redirect followed", n)
	}
}

func TestPostTimeout(t *testing.T) {
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	if status := sendPost(newPostClient(20*time.Millisecond), &abi.Post{URL: url}); status != 0 {
		t.Errorf("status %d, want 0", status)
	}
	if postClient.Timeout != 10*time.Second {
		t.Errorf("timeout of %v, want 10s", postClient.Timeout)
	}
}

// TestConcurrentPosts: at most abi.PostsAtOnce posts are in flight at a time.
func TestConcurrentPosts(t *testing.T) {
	var active, peak atomic.Int64
	full := make(chan struct{})
	url := serve(t, func(http.ResponseWriter, *http.Request) {
		n := active.Add(1)
		defer active.Add(-1)
		peak.Store(max(peak.Load(), n))
		if n == abi.PostsAtOnce {
			close(full)
		}
		<-full
		time.Sleep(20 * time.Millisecond) // time in which one more could arrive
	})
	var posts []abi.Post
	for n := range abi.PostsAtOnce + 4 {
		posts = append(posts, abi.Post{ID: string(rune('a' + n)), URL: url})
	}
	p := newPoster(posts...)
	if got := p.send(t); len(got) != len(posts) {
		t.Errorf("%d posts completed, want %d", len(got), len(posts))
	}
	if n := peak.Load(); n != abi.PostsAtOnce {
		t.Errorf("%d posts in flight at a time, want %d", n, abi.PostsAtOnce)
	}
}

// TestPostedIsCommand checks that the output of a Posted command is committed and that its posts are sent.
func TestPostedIsCommand(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	p := newPoster(abi.Post{ID: "1", URL: url})
	p.onPosted = func(posted abi.Posted) (abi.ObjectOutput, error) {
		out := abi.ObjectOutput{Puts: []abi.Row{{Key: "row", Value: []byte("after " + posted.ID)}}, AlarmMs: 5000}
		if posted.ID == "1" {
			out.Posts = []abi.Post{{ID: "2", URL: url}}
		}
		return out, nil
	}
	want := []abi.Posted{{ID: "1", Status: 502}, {ID: "2", Status: 502}}
	if got := p.send(t); !slices.Equal(got, want) {
		t.Errorf("the object got %v, want %v", got, want)
	}
	if row, _ := p.Call(t.Context(), abi.ClassLedger, "prj_1", "", []byte("look")); string(row) != "after 2" {
		t.Errorf("the row contains %q", row)
	}
	if _, at, _ := p.Store.NextAlarm(t.Context()); at != 5000 {
		t.Errorf("the alarm is set to %d, want 5000", at)
	}
}

// TestPostedTraps: if a Posted command traps, the post is not sent again. Rows that were committed before are kept.
func TestPostedTraps(t *testing.T) {
	var hits atomic.Int64
	url := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	p := newPoster(abi.Post{ID: "1", URL: url})
	p.onPosted = func(abi.Posted) (abi.ObjectOutput, error) {
		return abi.ObjectOutput{Posts: []abi.Post{{ID: "2", URL: url}}}, errors.New("trap")
	}
	p.send(t)
	if n := hits.Load(); n != 1 {
		t.Errorf("%d posts sent, want 1", n)
	}
	if row, _ := p.Call(t.Context(), abi.ClassLedger, "prj_1", "", []byte("look")); string(row) != "committed" {
		t.Errorf("the row contains %q", row)
	}
}

func TestAlarmPosts(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	p := newPoster(abi.Post{ID: "1", URL: url})
	setAlarm := func(rows store.Rows, _ uint64) error { return rows.Commit(nil, nil, 900) }
	if err := p.Store.Run(t.Context(), store.Object{Class: abi.ClassLedger, Name: "prj_1"}, setAlarm); err != nil {
		t.Fatal(err)
	}
	if !ring(t, p.StoredObjects) {
		t.Fatal("no alarm fired")
	}
	p.Wait()
	if want := []abi.Posted{{ID: "1", Status: 200}}; !slices.Equal(p.posted, want) {
		t.Errorf("the object got %v, want %v", p.posted, want)
	}
}
