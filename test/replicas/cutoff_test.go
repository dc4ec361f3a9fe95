package replicas

import (
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/pgtest"
)

// Upper bounds of waits, long enough for a busy machine. If a lost replica holds a key, a healthy replica waits a
// second for it. The lost replica needs a second and a half to notice that it cannot reach its database.
const (
	longestWait   = 1800 * time.Millisecond
	longestNotice = 3 * time.Second
)

// health sends a health check with a key to one server. The check needs a transaction on the key's object.
func (d *deployment) health(url, key string) (status int, took time.Duration) {
	began := time.Now()
	got := d.sendTo(url, "GET", "/api/health", "X-Api-Key", key, "")
	return got.status, time.Since(began)
}

// TestLostReplica cuts one of three replicas off from the database while all of them serve the same key. The other
// two continue to serve it after a second at most. The lost replica refuses requests with 503. Once it has noticed
// the loss, it does so immediately. When the network is back, it serves again.
func TestLostReplica(t *testing.T) {
	s := pgtest.Start(t)
	database := newDatabase(t, s)
	d := deploy(t, s, database, s.Address(), 0)
	p := newProxy(t, s.Address())
	d.serve(pgtest.URLAt(p.Addr().String(), database)+"&search_path=test,pg_catalog,public", 0, 0)
	project := d.newProject("shared")
	key := d.mustAdmin("POST", "projects/"+project+"/keys", `{"name":"k","kind":"gateway","environment":"production"}`).get("value").Str
	lost := d.urls[2]
	d.eventually("all replicas know the key", func() error {
		for _, url := range d.urls {
			if status, _ := d.health(url, key); status != 200 {
				return errStatus(status)
			}
		}
		return nil
	})
	for range 3 {
		d.loseAndFind(p, lost, key)
	}
}

type errStatus int

func (e errStatus) Error() string { return "not 200" }

func (d *deployment) loseAndFind(p *proxy, lost, key string) {
	d.Helper()
	stop := make(chan struct{})
	var callers sync.WaitGroup
	var mu sync.Mutex
	var longest, notice time.Duration
	refused, served := 0, 0
	for n := range 6 {
		url, isLost := d.urls[n%3], n%3 == 2
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				status, took := d.health(url, key)
				mu.Lock()
				switch {
				case !isLost && status != 200:
					d.Errorf("a healthy replica answers %d", status)
				case !isLost:
					served++
					longest = max(longest, took)
				case status == 503:
					refused++
					notice = max(notice, took)
				case status != 200:
					d.Errorf("the lost replica answers %d", status)
				}
				mu.Unlock()
			}
		})
	}
	time.Sleep(calm)
	p.set(stalls)
	d.eventually("the lost replica refuses at once", func() error {
		mu.Lock()
		defer mu.Unlock()
		if refused < 20 {
			return errStatus(0)
		}
		return nil
	})
	p.set(passes)
	d.eventually("the lost replica serves", func() error {
		if status, _ := d.health(lost, key); status != 200 {
			return errStatus(status)
		}
		return nil
	})
	close(stop)
	callers.Wait()
	d.Logf("served %d, longest wait %v; refused %d, after at most %v", served, longest, refused, notice)
	if longest > longestWait {
		d.Errorf("a healthy replica waited for %v", longest)
	}
	if notice > longestNotice {
		d.Errorf("the lost replica took %v to refuse", notice)
	}
}
