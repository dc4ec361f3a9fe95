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
)

// try is a sign-in from an address.
func (b *bench) try(address, token string) reply {
	b.Helper()
	return b.do("POST", sessions, `{"token":"`+token+`"}`, "Authorization", "", "X-Postern-Address", address)
}

func (b *bench) locked(got reply, seconds int) {
	b.Helper()
	b.refused(got, 429, "rate_limit_exceeded", "Rate limit exceeded")
	if after := got.Header().Get("Retry-After"); after != strconv.Itoa(seconds) {
		b.Errorf("Retry-After %s, want %d", after, seconds)
	}
}

// documents counts what is in the Directory under a prefix.
func (b *bench) documents(prefix string) (n int) {
	for key := range b.memory.rows {
		if strings.HasPrefix(key, "d/"+prefix) {
			n++
		}
	}
	return n
}

// Each failure from the fifth on locks further ones out for twice as long, up to a quarter of an hour.
func TestLockouts(t *testing.T) {
	b := newBench(t)
	for range 4 {
		b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Invalid token")
	}
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Invalid token")
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

// from asks with a bearer token from an address.
func (b *bench) from(address, token string) reply {
	b.Helper()
	return b.do("GET", "/api/admin/projects", "", "Authorization", "Bearer "+token, "X-Postern-Address", address)
}

// Whoever has a right token or a cookie gets in at once, of whichever role, however many wrong tokens come from
// the same address at the same time. The wrong ones are slowed down all the same.
func TestARightTokenPassesAStorm(t *testing.T) {
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
		t.Errorf("wrong ones: %v", codes)
	}
	if n, refused := b.documents("a/"), 5; n != refused+2*rounds+len(cookies) {
		t.Errorf("%d audit entries", n)
	}
}

// The same at the same time, and with another isolate's wrong tokens in between.
func TestRightTokensAmongWrongOnesAtOnce(t *testing.T) {
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
	passed, told, slowed := 0, 0, 0
	for _, code := range right {
		if code == 200 {
			passed++
		}
	}
	for _, code := range wrong {
		switch code {
		case 401:
			told++
		case 429:
			slowed++
		}
	}
	if passed != rights || told != 5 || told+slowed != wrongs {
		t.Errorf("%d of %d right ones passed; of %d wrong ones %d were told and %d slowed down", passed, rights, wrongs, told, slowed)
	}
}

// While an address is locked out, it costs the Directory nothing and leaves nothing in the logs.
func TestALockedAddressIsQuiet(t *testing.T) {
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
	// A day of it is about a hundred entries: one for each lockout, the longest a quarter of an hour.
	for range 24 * 60 {
		b.now = b.now.Add(time.Minute)
		b.try("192.0.2.1", "wrong")
	}
	if n := b.documents("a/"); n > 110 || n < 100 {
		t.Errorf("%d entries after a day", n)
	}
}

// A wrong token that cannot be counted gets no verdict, and no more than a line a second.
func TestWrongTokensWhileTheDirectoryIsOut(t *testing.T) {
	for name, fail := range map[string]func(*memory){
		"all": func(m *memory) { m.fail = everythingFails }, "commits": (*memory).failCommits,
	} {
		b := newBench(t)
		var lines bytes.Buffer
		log.SetOutput(&lines)
		fail(b.memory)
		for range 3 {
			b.refused(b.try("192.0.2.1", "wrong"), 503, "service_unavailable", "Service unavailable")
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

// Failures count only with others in the same quarter of an hour; after a lockout, all has to be quiet for one.
func TestFailuresAreForgotten(t *testing.T) {
	b := newBench(t)
	fail := func(n int) {
		t.Helper()
		for range n {
			b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Invalid token")
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

func TestWhoIsLockedOutTogether(t *testing.T) {
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
			b.refused(b.try(c.one, "wrong"), 401, "wrong_token", "Invalid token")
		}
		if got := b.try(c.other, "wrong"); (got.Code == 429) != c.together {
			t.Errorf("%q and %q: %d", c.one, c.other, got.Code)
		}
	}
}

// Another isolate knows no lockout, but the Directory does; from then on the isolate does as well, and asks no more.
func TestLockoutsHoldOverIsolates(t *testing.T) {
	b, other := newBench(t), newBench(t)
	other.memory = b.memory
	other.handler.(*handler).store = b.handler.(*handler).store
	for range 5 {
		b.try("192.0.2.1", "wrong")
	}
	asked, kept := 0, len(b.memory.rows)
	b.memory.before = func([]byte) { asked++ }
	for range 10 {
		other.locked(other.try("192.0.2.1", "wrong"), 1)
		other.locked(other.from("192.0.2.1", "wrong"), 1)
	}
	if asked != 1 || len(b.memory.rows) != kept {
		t.Errorf("the Directory was asked %d times, and has %d rows, not %d", asked, len(b.memory.rows), kept)
	}
}

// Wrong bearer tokens count as well, with those of sign-ins.
func TestWrongBearersCount(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.refused(b.from("192.0.2.1", "wrong"), 401, "invalid_api_key", "Invalid or inactive API key")
	}
	if got := b.from("192.0.2.1", token); got.Code != 200 { // which does not forget
		t.Error(got.Body)
	}
	b.try("192.0.2.1", "wrong")
	b.refused(b.from("192.0.2.1", "wrong"), 401, "invalid_api_key", "Invalid or inactive API key")
	b.locked(b.from("192.0.2.1", "wrong"), 1)
	b.locked(b.try("192.0.2.1", "wrong"), 1)
	b.now = b.now.Add(time.Second)
	b.refused(b.from("192.0.2.1", "wrong"), 401, "invalid_api_key", "Invalid or inactive API key")
}

// At most one write for each that is refused, and none of the token or the address.
func TestWhatFailuresLeaveBehind(t *testing.T) {
	b := newBench(t)
	commits := 0
	b.memory.before = func(command []byte) {
		if command[0] == 2 {
			commits++
		}
		if bytes.Contains(command, []byte("wrong-token-text")) {
			t.Error("the token is written")
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

// Of many that try at once, no more than the free ones are told whether they are right.
func TestManySignInsAtOnce(t *testing.T) {
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

// Who is never told a verdict because others are always quicker has to wait, too.
func TestASignInThatNeverHolds(t *testing.T) {
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

// A wrong token that meets a lockout on its way is told nothing either.
func TestALockoutInBetween(t *testing.T) {
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
		b.handler.(*handler).lockouts.until = nil // as another isolate would have it
	}
	b.locked(b.try("192.0.2.1", "wrong"), 1)
	if n := b.documents("a/"); n != 5 {
		t.Errorf("%d entries", n)
	}
}

// Whoever signs in gets no more tries at another role's token by it.
func TestSigningInDoesNotForgetFailures(t *testing.T) {
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

// A token that is too short to be safe from guesses is none, and the log says so once.
func TestShortTokens(t *testing.T) {
	for _, c := range []struct {
		owner, viewer string
		owns, views   int
		log           string
	}{
		{"0123456789abcdef", "fedcba9876543210", 200, 200, ""},
		{"0123456789abcde", "fedcba9876543210", 503, 503, "the owners' token is not used: it has 15 bytes and needs at least 16"},
		{"0123456789abcdef", "fedcba987654321", 200, 401, "the viewers' token is not used: it has 15 bytes and needs at least 16"},
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
		said := lines.String()
		if strings.Count(said, "token") != strings.Count(c.log, "token") || !strings.Contains(said, c.log) {
			t.Errorf("%+v: log %q", c, said)
		}
	}
}

// An instance forgets lockouts before it lets them grow without bound, those that are over first.
func TestLockoutsThatAnInstanceRemembers(t *testing.T) {
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
		l.note(strconv.Itoa(i), failures{UntilMs: until.UnixMilli()}, at)
		if len(l.until) > maxLockouts {
			t.Fatalf("%d remembered", len(l.until))
		}
		if i == maxLockouts && len(l.until) != maxLockouts/2+1 {
			t.Errorf("%d remembered after those that are over went", len(l.until))
		}
	}
	l.note("free", failures{Count: 4}, now)
	if _, ok := l.until["free"]; ok || len(l.until) != maxLockouts {
		t.Errorf("%d remembered", len(l.until))
	}
}

func TestPruneSlowdowns(t *testing.T) {
	b := newBench(t)
	for i := range 1200 {
		b.try(fmt.Sprintf("2001:db8:%x::1", i), "wrong")
	}
	b.now = b.now.Add(10 * time.Minute)
	for range 5 {
		b.try("192.0.2.1", "wrong")
	}
	b.now = b.now.Add(14 * time.Minute)
	if err := b.handler.(*handler).pruneSlowdowns(t.Context()); err != nil || b.documents("s/") != 1 {
		t.Errorf("%v, %d left", err, b.documents("s/"))
	}
	b.now = b.now.Add(time.Minute + time.Second)
	if err := b.handler.(*handler).pruneSlowdowns(t.Context()); err != nil || b.documents("s/") != 0 {
		t.Errorf("%v, %d left", err, b.documents("s/"))
	}
	b.memory.fail = everythingFails
	if (&Service{b.handler.(*handler)}).Hourly(t.Context()) == nil {
		t.Error("no error")
	}
}
