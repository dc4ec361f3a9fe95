package control

import (
	"bytes"
	"fmt"
	"net/http/httptest"
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

// Each failure from the fifth on locks for twice as long, up to a quarter of an hour; when that is over,
// the right token signs in and all is forgotten.
func TestLockouts(t *testing.T) {
	b := newBench(t)
	for range 4 {
		b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Wrong token")
	}
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Wrong token")
		b.locked(b.try("192.0.2.1", "wrong"), seconds)
		b.locked(b.try("192.0.2.1", token), seconds)
		if seconds > 1 {
			b.now = b.now.Add(time.Duration(seconds)*time.Second - time.Millisecond)
			b.locked(b.try("192.0.2.1", token), 1)
			b.now = b.now.Add(time.Millisecond)
			continue
		}
		b.now = b.now.Add(time.Second)
	}
	if got := b.try("192.0.2.1", token); got.Code != 200 || b.documents("s/") != 0 {
		t.Errorf("%d %s, %d documents", got.Code, got.Body, b.documents("s/"))
	}
	b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Wrong token")
	b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Wrong token")
}

// Failures count only with others in the same quarter of an hour; after a lockout, all has to be quiet for one.
func TestFailuresAreForgotten(t *testing.T) {
	b := newBench(t)
	fail := func(n int) {
		t.Helper()
		for range n {
			b.refused(b.try("192.0.2.1", "wrong"), 401, "wrong_token", "Wrong token")
		}
	}
	fail(4)
	b.now = b.now.Add(15 * time.Minute)
	fail(1)
	b.now = b.now.Add(15*time.Minute - time.Millisecond)
	fail(4)
	b.locked(b.try("192.0.2.1", token), 1)
	b.now = b.now.Add(time.Second + 15*time.Minute - time.Millisecond)
	fail(1)
	b.locked(b.try("192.0.2.1", token), 2)
	b.now = b.now.Add(2*time.Second + 15*time.Minute)
	fail(5)
	b.locked(b.try("192.0.2.1", token), 1)
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
			b.refused(b.try(c.one, "wrong"), 401, "wrong_token", "Wrong token")
		}
		if got := b.try(c.other, token); (got.Code == 429) != c.together {
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
		other.locked(other.try("192.0.2.1", token), 1)
		other.locked(other.do("GET", sessions, "", "X-Postern-Address", "192.0.2.1"), 1)
	}
	if asked != 1 || len(b.memory.rows) != kept {
		t.Errorf("the Directory was asked %d times, and has %d rows, not %d", asked, len(b.memory.rows), kept)
	}
}

// Wrong bearer tokens count as well. Who has signed in is not concerned.
func TestWrongBearersCount(t *testing.T) {
	b := newBench(t)
	cookie := b.signIn(token)
	from := func(token string) reply {
		return b.do("GET", "/api/admin/projects", "", "Authorization", "Bearer "+token, "X-Postern-Address", "192.0.2.1")
	}
	for range 3 {
		b.refused(from("wrong"), 401, "invalid_api_key", "Invalid or inactive API key")
	}
	if from(token).Code != 200 { // which does not forget: it costs no commit
		t.Error("the right one")
	}
	b.try("192.0.2.1", "wrong")
	b.refused(from("wrong"), 401, "invalid_api_key", "Invalid or inactive API key")
	b.locked(from(token), 1)
	b.locked(from("wrong"), 1)
	if got := b.with(cookie, "GET", "/api/admin/projects", "", "X-Postern-Address", "192.0.2.1"); got.Code != 200 {
		t.Error(got.Body)
	}
	b.now = b.now.Add(time.Second)
	if got := from(token); got.Code != 200 {
		t.Error(got.Body)
	}
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
	b.locked(b.try("192.0.2.1", token), 1)
	if commits != 2*maxAttempts {
		t.Errorf("%d commits", commits)
	}
}

// A right token that meets a lockout on its way is told nothing either.
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
	got := b.try("192.0.2.1", token)
	b.locked(got, 1)
	if len(got.Result().Cookies()) != 0 {
		t.Error("a cookie")
	}
}

// Whoever has the viewers' token gets no more tries at the owner's by signing in with it.
func TestViewersDoNotForgetFailures(t *testing.T) {
	b := newBench(t)
	b.viewer = viewerToken
	for range freeFailures - 1 {
		b.try("192.0.2.1", "wrong")
	}
	if got := b.try("192.0.2.1", viewerToken); got.Code != 200 {
		t.Fatal(got.Body)
	}
	b.try("192.0.2.1", "wrong")
	if got := b.try("192.0.2.1", "wrong"); got.Code != 429 {
		t.Errorf("not locked out: %d", got.Code)
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
