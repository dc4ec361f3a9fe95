package control

import (
	"bytes"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/fault"
)

// try signs in from an address.
func (b *bench) try(address, token string) reply {
	b.Helper()
	return b.do("POST", sessions, `{"token":"`+token+`"}`, "Authorization", "", "X-Postern-Address", address)
}

func (b *bench) locked(got reply, seconds int) {
	b.Helper()
	b.refused(got, fault.RateLimited)
	if after := got.Header().Get("Retry-After"); after != strconv.Itoa(seconds) {
		b.Errorf("Retry-After %s, want %d", after, seconds)
	}
}

// documents counts the documents in the Directory under a prefix.
func (b *bench) documents(prefix string) (n int) {
	for key := range b.memory.rows {
		if strings.HasPrefix(key, "d/"+prefix) {
			n++
		}
	}
	return n
}

// From the fifth failure on, each one locks out further wrong tokens for twice as long, up to 15 minutes.
func TestLockouts(t *testing.T) {
	b := newBench(t)
	for range 4 {
		b.refused(b.try("192.0.2.1", "wrong"), fault.WrongToken)
	}
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		b.refused(b.try("192.0.2.1", "wrong"), fault.WrongToken)
		b.locked(b.try("192.0.2.1", "wrong"), seconds)
		b.locked(b.try("192.0.2.1", "another wrong one"), seconds)
		if seconds > 1 {
			b.now = b.now.Add(time.Duration(seconds)*time.Second - time.Millisecond)
			b.locked(b.try("192.0.2.1", "wrong"), 1)
			b.now = b.now.Add(time.Millisecond)
			continue
		}
		b.now = b.now.Add(time.Second)
	}
}

// from sends a request with a bearer token from an address.
func (b *bench) from(address, token string) reply {
	b.Helper()
	return b.do("GET", "/api/admin/projects", "", "Authorization", "Bearer "+token, "X-Postern-Address", address)
}

// Correct tokens and cookies of every role are accepted at once, no matter how many wrong tokens arrive from
// the same address at the same time. The wrong ones are still locked out.
func TestCorrectTokensAreNeverLockedOut(t *testing.T) {
	b := newBench(t)
	b.viewer = viewerToken
	cookies := []string{b.signIn(token), b.signIn(viewerToken)}
	const address, rounds = "192.0.2.1", 24
	codes := map[int]int{}
	wrong := func() {
		for _, got := range []reply{b.try(address, "wrong"), b.from(address, "wrong")} {
			if codes[got.Code]++; got.Code == 429 && got.Header().Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
	}
	for i := range rounds {
		wrong()
		for _, right := range []string{token, viewerToken} {
			for name, got := range map[string]reply{"signs in": b.try(address, right), "asks": b.from(address, right)} {
				if got.Code != 200 {
					t.Errorf("round %d: %s %s: %d %s", i, right, name, got.Code, got.Body)
				}
			}
			wrong()
		}
		for _, cookie := range cookies {
			if got := b.with(cookie, "GET", "/api/admin/projects", "", "X-Postern-Address", address); got.Code != 200 {
				t.Errorf("round %d: a cookie: %d %s", i, got.Code, got.Body)
			}
		}
	}
	if codes[401] != 5 || codes[429] != 6*rounds-5 || len(codes) != 2 {
		t.Errorf("wrong tokens: %v", codes)
	}
	if n, refused := b.documents("a/"), 5; n != refused+2*rounds+len(cookies) {
		t.Errorf("%d audit entries", n)
	}
}

// The same concurrently, and with wrong tokens that arrive at another isolate.
func TestCorrectTokensAmongConcurrentWrongOnes(t *testing.T) {
	quiet(t)
	b := newBench(t)
	other := newBench(t)
	other.handler.(*handler).store = b.handler.(*handler).store
	b.salt()
	const rights, wrongs = 24, 200
	send := func(h http.Handler, text string) int {
		r := httptest.NewRequest("POST", sessions, strings.NewReader(`{"token":"`+text+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Postern-Address", "192.0.2.1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var all sync.WaitGroup
	right, wrong := make([]int, rights), make([]int, wrongs)
	for i := range wrongs {
		all.Go(func() { wrong[i] = send([]http.Handler{b.handler, other.handler}[i%2], fmt.Sprint("wrong", i)) })
		if i < rights {
			all.Go(func() { right[i] = send(b.handler, token) })
		}
	}
	all.Wait()
	accepted, rejected, limited := 0, 0, 0
	for _, code := range right {
		if code == 200 {
			accepted++
		}
	}
	for _, code := range wrong {
		switch code {
		case 401:
			rejected++
		case 429:
			limited++
		}
	}
	if accepted != rights || rejected != 5 || rejected+limited != wrongs {
		t.Errorf("%d of %d correct tokens accepted; of %d wrong ones, %d got the verdict and %d a 429", accepted, rights, wrongs, rejected, limited)
	}
}

// During a lockout, wrong tokens cause no calls to the Directory and no log lines.
func TestLockoutCausesNoWork(t *testing.T) {
	b := newBench(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	for range 5 {
		b.try("192.0.2.1", "wrong")
	}
	calls, entries := b.memory.calls, b.documents("a/")
	for range 1000 {
		b.try("192.0.2.1", "wrong")
		b.from("192.0.2.1", "wrong")
	}
	if b.memory.calls != calls || b.documents("a/") != entries || lines.Len() != 0 {
		t.Errorf("%d calls, %d entries, log %q", b.memory.calls-calls, b.documents("a/")-entries, lines.String())
	}
	// A day of attempts makes about a hundred entries: one per lockout of up to 15 minutes.
	for range 24 * 60 {
		b.now = b.now.Add(time.Minute)
		b.try("192.0.2.1", "wrong")
	}
	if n := b.documents("a/"); n > 110 || n < 100 {
		t.Errorf("%d entries after a day", n)
	}
}

// A wrong token that cannot be counted gets a 503, and at most one log line per second.
func TestWrongTokensWhileTheDirectoryFails(t *testing.T) {
	for name, fail := range map[string]func(*memory){
		"all": func(m *memory) { m.fail = everythingFails }, "commits": (*memory).failCommits,
	} {
		b := newBench(t)
		var lines bytes.Buffer
		log.SetOutput(&lines)
		fail(b.memory)
		for range 3 {
			b.refused(b.try("192.0.2.1", "wrong"), fault.Unavailable)
			for range 100 {
				b.locked(b.try("192.0.2.1", "wrong"), 1)
			}
			b.now = b.now.Add(time.Second)
		}
		log.SetOutput(os.Stderr)
		if n := strings.Count(lines.String(), "\n"); n != 3 {
			t.Errorf("%s: %d lines: %s", name, n, lines.String())
		}
	}
}

// Failures are counted together within 15 minutes; a lockout followed by 15 minutes without failures resets
// the count.
func TestFailuresExpire(t *testing.T) {
	b := newBench(t)
	fail := func(n int) {
		t.Helper()
		for range n {
			b.refused(b.try("192.0.2.1", "wrong"), fault.WrongToken)
		}
	}
	fail(4)
	b.now = b.now.Add(15 * time.Minute)
	fail(1)
	b.now = b.now.Add(15*time.Minute - time.Millisecond)
	fail(4)
	b.locked(b.try("192.0.2.1", "wrong"), 1)
	b.now = b.now.Add(time.Second + 15*time.Minute - time.Millisecond)
	fail(1)
	b.locked(b.try("192.0.2.1", "wrong"), 2)
	b.now = b.now.Add(2*time.Second + 15*time.Minute)
	fail(5)
	b.locked(b.try("192.0.2.1", "wrong"), 1)
}

func TestLockoutBuckets(t *testing.T) {
	for _, c := range []struct {
		one, other string
		together   bool
	}{
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"2001:db8:1:2::1%eth0", "2001:db8:1:2::2%eth1", true},
		{"", "not an address", true},
		{"", "192.0.2.1", false},
		{"192.0.2.1,192.0.2.2", "", true},
	} {
		b := newBench(t)
		for range 5 {
			b.refused(b.try(c.one, "wrong"), fault.WrongToken)
		}
		if got := b.try(c.other, "wrong"); (got.Code == 429) != c.together {
			t.Errorf("%q and %q: %d", c.one, c.other, got.Code)
		}
	}
}

// Another isolate does not know the lockout, but reads it from the Directory once and then caches it.
func TestLockoutsAcrossIsolates(t *testing.T) {
	b, other := newBench(t), newBench(t)
	other.memory = b.memory
	other.handler.(*handler).store = b.handler.(*handler).store
	for range 5 {
		b.try("192.0.2.1", "wrong")
	}
	lists, rows := 0, len(b.memory.rows)
	b.memory.before = func([]byte) { lists++ }
	for range 10 {
		other.locked(other.try("192.0.2.1", "wrong"), 1)
		other.locked(other.from("192.0.2.1", "wrong"), 1)
	}
	if lists != 1 || len(b.memory.rows) != rows {
		t.Errorf("%d calls to the Directory, which has %d rows, want %d", lists, len(b.memory.rows), rows)
	}
}

// Wrong bearer tokens are counted together with failed sign-ins.
func TestWrongBearerTokensCount(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.refused(b.from("192.0.2.1", "wrong"), fault.InvalidAdmin)
	}
	if got := b.from("192.0.2.1", token); got.Code != 200 { // which does not reset the count
		t.Error(got.Body)
	}
	b.try("192.0.2.1", "wrong")
	b.refused(b.from("192.0.2.1", "wrong"), fault.InvalidAdmin)
	b.locked(b.from("192.0.2.1", "wrong"), 1)
	b.locked(b.try("192.0.2.1", "wrong"), 1)
	b.now = b.now.Add(time.Second)
	b.refused(b.from("192.0.2.1", "wrong"), fault.InvalidAdmin)
}

// A failure causes at most one commit, which contains neither the token nor the address.
func TestFailureWrites(t *testing.T) {
	b := newBench(t)
	commits := 0
	b.memory.before = func(command []byte) {
		if command[0] == 2 {
			commits++
		}
		if bytes.Contains(command, []byte("wrong-token-text")) {
			t.Error("the token is stored")
		}
	}
	for i := range 5 {
		b.try("192.0.2.77", "wrong-token-text")
		if commits != i+1 {
			t.Errorf("%d commits for %d failures", commits, i+1)
		}
	}
	for range 10 {
		b.try("192.0.2.77", "wrong-token-text")
	}
	if commits != 5 || b.documents("s/") != 1 || b.documents("a/") != 5 {
		t.Errorf("%d commits, %d counts, %d entries", commits, b.documents("s/"), b.documents("a/"))
	}
}

// Of many concurrent attempts, only the free ones learn that their token is wrong.
func TestConcurrentSignIns(t *testing.T) {
	quiet(t)
	b := newBench(t)
	var all sync.WaitGroup
	codes := make([]int, 200)
	for i := range codes {
		all.Go(func() {
			r := httptest.NewRequest("POST", sessions, strings.NewReader(fmt.Sprintf(`{"token":"wrong%d"}`, i)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			b.handler.ServeHTTP(w, r)
			codes[i] = w.Code
		})
	}
	all.Wait()
	counts := map[int]int{}
	for _, code := range codes {
		counts[code]++
	}
	if counts[401] != 5 || counts[429] != 195 {
		t.Errorf("%v", counts)
	}
}

// An attempt whose commit never succeeds is locked out as well.
func TestSignInThatAlwaysConflicts(t *testing.T) {
	b := newBench(t)
	b.try("192.0.2.1", "wrong")
	commits := 0
	b.memory.before = func(command []byte) {
		if command[0] != 2 {
			return
		}
		commits++
		for key, value := range b.memory.rows {
			if strings.HasPrefix(key, "d/s/") {
				b.memory.rows[key] = append([]byte{value[0] + 1}, value[1:]...) // its version
			}
		}
	}
	b.locked(b.try("192.0.2.1", "wrong"), 1)
	if commits != maxAttempts {
		t.Errorf("%d commits", commits)
	}
	if got := b.try("192.0.2.1", token); got.Code != 200 {
		t.Error(got.Body)
	}
}

// A wrong token that finds a lockout only when it commits gets no verdict.
func TestLockoutDuringCommit(t *testing.T) {
	b := newBench(t)
	raced := false
	b.memory.before = func(command []byte) {
		if raced || command[0] != 2 {
			return
		}
		raced = true
		for range 5 {
			b.try("192.0.2.1", "wrong")
		}
		b.handler.(*handler).lockouts.until = nil // as in another isolate
	}
	b.locked(b.try("192.0.2.1", "wrong"), 1)
	if n := b.documents("a/"); n != 5 {
		t.Errorf("%d entries", n)
	}
}

// A successful sign-in does not reset the count for the tokens of other roles.
func TestSignInDoesNotResetFailures(t *testing.T) {
	for _, right := range []string{token, viewerToken} {
		b := newBench(t)
		b.viewer = viewerToken
		for range freeFailures - 1 {
			b.try("192.0.2.1", "wrong")
		}
		if got := b.try("192.0.2.1", right); got.Code != 200 {
			t.Fatal(got.Body)
		}
		b.try("192.0.2.1", "wrong")
		b.locked(b.try("192.0.2.1", "wrong"), 1)
	}
}

// A token that is too short is ignored, and the log reports it once.
func TestShortTokens(t *testing.T) {
	for _, c := range []struct {
		owner, viewer string
		owns, views   int
		log           string
	}{
		{"0123456789abcdef", "fedcba9876543210", 200, 200, ""},
		{"0123456789abcde", "fedcba9876543210", 503, 503, "POSTERN_ADMIN_TOKEN is ignored: it has 15 bytes and needs at least 16"},
		{"0123456789abcdef", "fedcba987654321", 200, 401, "POSTERN_VIEWER_TOKEN is ignored: it has 15 bytes and needs at least 16"},
		{"0123456789abcdef", "", 200, 401, ""},
	} {
		b := newBench(t)
		var lines bytes.Buffer
		log.SetOutput(&lines)
		b.token, b.viewer = c.owner, c.viewer
		for range 3 {
			for text, want := range map[string]int{c.owner: c.owns, c.viewer: c.views} {
				if text == "" {
					continue
				}
				if got := b.from("192.0.2.1", text); got.Code != want {
					t.Errorf("%+v: bearer %q: %d", c, text, got.Code)
				}
				if got := b.try("192.0.2.2", text); got.Code != want {
					t.Errorf("%+v: sign-in with %q: %d", c, text, got.Code)
				}
			}
		}
		log.SetOutput(os.Stderr)
		logged := lines.String()
		if strings.Count(logged, "TOKEN") != strings.Count(c.log, "TOKEN") || !strings.Contains(logged, c.log) {
			t.Errorf("%+v: log %q", c, logged)
		}
	}
}

// Each role's token is reported, once.
func TestShortTokensAreBothReported(t *testing.T) {
	b := newBench(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	h := b.handler.(*handler)
	b.token, b.viewer = "short", "shorter"
	for range 3 {
		h.tokenOf(owner)
		h.tokenOf(viewer)
	}
	for _, name := range []string{"POSTERN_ADMIN_TOKEN", "POSTERN_VIEWER_TOKEN"} {
		if n := strings.Count(lines.String(), name); n != 1 {
			t.Errorf("%s is reported %d times: %s", name, n, lines.String())
		}
	}
}

// The cache of lockouts is bounded; expired lockouts are evicted first.
func TestLockoutCache(t *testing.T) {
	var l lockouts
	now := time.UnixMilli(1_000_000)
	for i := range 3 * maxLockouts {
		until := now.Add(time.Hour)
		if i < maxLockouts {
			until = now.Add(time.Duration(i%2+1) * time.Minute)
		}
		at := now
		if i >= maxLockouts {
			at = now.Add(time.Minute)
		}
		l.remember(strconv.Itoa(i), failures{UntilMs: until.UnixMilli()}, at)
		if len(l.until) > maxLockouts {
			t.Fatalf("%d cached", len(l.until))
		}
		if i == maxLockouts && len(l.until) != maxLockouts/2+1 {
			t.Errorf("%d cached after the expired ones were evicted", len(l.until))
		}
	}
	l.remember("free", failures{Count: 4}, now)
	if _, ok := l.until["free"]; ok || len(l.until) != maxLockouts {
		t.Errorf("%d cached", len(l.until))
	}
}

func TestPruneFailures(t *testing.T) {
	b := newBench(t)
	for i := range 1200 {
		b.try(fmt.Sprintf("2001:db8:%x::1", i), "wrong")
	}
	b.now = b.now.Add(10 * time.Minute)
	for range 5 {
		b.try("192.0.2.1", "wrong")
	}
	b.now = b.now.Add(14 * time.Minute)
	if err := b.handler.(*handler).pruneFailures(t.Context()); err != nil || b.documents("s/") != 1 {
		t.Errorf("%v, %d remain", err, b.documents("s/"))
	}
	b.now = b.now.Add(time.Minute + time.Second)
	if err := b.handler.(*handler).pruneFailures(t.Context()); err != nil || b.documents("s/") != 0 {
		t.Errorf("%v, %d remain", err, b.documents("s/"))
	}
	b.memory.fail = everythingFails
	if (&Service{b.handler.(*handler)}).Hourly(t.Context()) == nil {
		t.Error("no error")
	}
}
