package auth_test

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

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

func locked(b *controltest.Bench, got controltest.Reply, seconds int) {
	b.Helper()
	b.Refused(got, fault.RateLimited)
	if after := got.Header().Get("Retry-After"); after != strconv.Itoa(seconds) {
		b.Errorf("Retry-After %s, want %d", after, seconds)
	}
}

// From the fifth failure on, each failure causes a lockout that is twice as long as the one before, up to 15 minutes.
func TestLockouts(t *testing.T) {
	b := controltest.New(t)
	for range 4 {
		b.Refused(b.Try("192.0.2.1", "wrong"), fault.WrongToken)
	}
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		b.Refused(b.Try("192.0.2.1", "wrong"), fault.WrongToken)
		locked(b, b.Try("192.0.2.1", "wrong"), seconds)
		locked(b, b.Try("192.0.2.1", "another wrong one"), seconds)
		if seconds > 1 {
			b.Now = b.Now.Add(time.Duration(seconds)*time.Second - time.Millisecond)
			locked(b, b.Try("192.0.2.1", "wrong"), 1)
			b.Now = b.Now.Add(time.Millisecond)
			continue
		}
		b.Now = b.Now.Add(time.Second)
	}
}

// from sends a request with a bearer token from the given address.
func from(b *controltest.Bench, address, token string) controltest.Reply {
	b.Helper()
	return b.Do("GET", "/api/admin/projects", "", "Authorization", "Bearer "+token, "X-Postern-Address", address)
}

// Correct tokens and cookies of every role are accepted at once, even while many wrong tokens arrive from the same
// address. The wrong tokens are still locked out.
func TestCorrectTokensAreNeverLockedOut(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = controltest.ViewerToken
	cookies := []string{b.SignIn(controltest.Token), b.SignIn(controltest.ViewerToken)}
	const address, rounds = "192.0.2.1", 24
	codes := map[int]int{}
	wrong := func() {
		for _, got := range []controltest.Reply{b.Try(address, "wrong"), from(b, address, "wrong")} {
			if codes[got.Code]++; got.Code == 429 && got.Header().Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
	}
	for i := range rounds {
		wrong()
		for _, right := range []string{controltest.Token, controltest.ViewerToken} {
			for name, got := range map[string]controltest.Reply{"signs in": b.Try(address, right), "asks": from(b, address, right)} {
				if got.Code != 200 {
					t.Errorf("round %d: %s %s: %d %s", i, right, name, got.Code, got.Body)
				}
			}
			wrong()
		}
		for _, cookie := range cookies {
			if got := b.With(cookie, "GET", "/api/admin/projects", "", "X-Postern-Address", address); got.Code != 200 {
				t.Errorf("round %d: a cookie: %d %s", i, got.Code, got.Body)
			}
		}
	}
	if codes[401] != 5 || codes[429] != 6*rounds-5 || len(codes) != 2 {
		t.Errorf("wrong tokens: %v", codes)
	}
	if n, refused := b.Documents("a/"), 5; n != refused+2*rounds+len(cookies) {
		t.Errorf("%d audit entries", n)
	}
}

// The same holds if all requests are concurrent and the wrong tokens arrive at another isolate.
func TestCorrectTokensAmongConcurrentWrongOnes(t *testing.T) {
	controltest.Quiet(t)
	b := controltest.New(t)
	other := controltest.New(t)
	other.Joins(b)
	salt(b)
	const rights, wrongs = 24, 200
	send := func(h http.Handler, text string) int {
		r := httptest.NewRequest("POST", controltest.Sessions, strings.NewReader(`{"token":"`+text+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Postern-Address", "192.0.2.1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	var all sync.WaitGroup
	right, wrong := make([]int, rights), make([]int, wrongs)
	for i := range wrongs {
		all.Go(func() { wrong[i] = send([]http.Handler{b.Service, other.Service}[i%2], fmt.Sprint("wrong", i)) })
		if i < rights {
			all.Go(func() { right[i] = send(b.Service, controltest.Token) })
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
	b := controltest.New(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	for range 5 {
		b.Try("192.0.2.1", "wrong")
	}
	calls, entries := b.Memory.Calls, b.Documents("a/")
	for range 1000 {
		b.Try("192.0.2.1", "wrong")
		from(b, "192.0.2.1", "wrong")
	}
	if b.Memory.Calls != calls || b.Documents("a/") != entries || lines.Len() != 0 {
		t.Errorf("%d calls, %d entries, log %q", b.Memory.Calls-calls, b.Documents("a/")-entries, lines.String())
	}
	// A day of attempts writes about a hundred audit entries: one per lockout of up to 15 minutes.
	for range 24 * 60 {
		b.Now = b.Now.Add(time.Minute)
		b.Try("192.0.2.1", "wrong")
	}
	if n := b.Documents("a/"); n > 110 || n < 100 {
		t.Errorf("%d entries after a day", n)
	}
}

// A wrong token that cannot be counted is rejected with a 503, and there is at most one log line per second.
func TestWrongTokensWhileTheDirectoryFails(t *testing.T) {
	for name, fail := range map[string]func(*controltest.Memory){
		"all": func(m *controltest.Memory) { m.Fail = controltest.EverythingFails }, "commits": (*controltest.Memory).FailCommits,
	} {
		b := controltest.New(t)
		var lines bytes.Buffer
		log.SetOutput(&lines)
		fail(b.Memory)
		for range 3 {
			b.Refused(b.Try("192.0.2.1", "wrong"), fault.Unavailable)
			for range 100 {
				locked(b, b.Try("192.0.2.1", "wrong"), 1)
			}
			b.Now = b.Now.Add(time.Second)
		}
		log.SetOutput(os.Stderr)
		if n := strings.Count(lines.String(), "\n"); n != 3 {
			t.Errorf("%s: %d lines: %s", name, n, lines.String())
		}
	}
}

// The count covers the failures of 15 minutes. It is reset when a lockout is followed by 15 minutes without failures.
func TestFailuresExpire(t *testing.T) {
	b := controltest.New(t)
	fail := func(n int) {
		t.Helper()
		for range n {
			b.Refused(b.Try("192.0.2.1", "wrong"), fault.WrongToken)
		}
	}
	fail(4)
	b.Now = b.Now.Add(15 * time.Minute)
	fail(1)
	b.Now = b.Now.Add(15*time.Minute - time.Millisecond)
	fail(4)
	locked(b, b.Try("192.0.2.1", "wrong"), 1)
	b.Now = b.Now.Add(time.Second + 15*time.Minute - time.Millisecond)
	fail(1)
	locked(b, b.Try("192.0.2.1", "wrong"), 2)
	b.Now = b.Now.Add(2*time.Second + 15*time.Minute)
	fail(5)
	locked(b, b.Try("192.0.2.1", "wrong"), 1)
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
		b := controltest.New(t)
		for range 5 {
			b.Refused(b.Try(c.one, "wrong"), fault.WrongToken)
		}
		if got := b.Try(c.other, "wrong"); (got.Code == 429) != c.together {
			t.Errorf("%q and %q: %d", c.one, c.other, got.Code)
		}
	}
}

// Another isolate, which does not know the lockout, reads it from the Directory once and then caches it.
func TestLockoutsAcrossIsolates(t *testing.T) {
	b, other := controltest.New(t), controltest.New(t)
	other.Joins(b)
	for range 5 {
		b.Try("192.0.2.1", "wrong")
	}
	lists, rows := 0, len(b.Memory.Rows)
	b.Memory.Before = func([]byte) { lists++ }
	for range 10 {
		locked(other, other.Try("192.0.2.1", "wrong"), 1)
		locked(other, from(other, "192.0.2.1", "wrong"), 1)
	}
	if lists != 1 || len(b.Memory.Rows) != rows {
		t.Errorf("%d calls to the Directory, which has %d rows, want %d", lists, len(b.Memory.Rows), rows)
	}
}

// Wrong bearer tokens are counted together with failed sign-ins.
func TestWrongBearerTokensCount(t *testing.T) {
	b := controltest.New(t)
	for range 3 {
		b.Refused(from(b, "192.0.2.1", "wrong"), fault.InvalidAdmin)
	}
	if got := from(b, "192.0.2.1", controltest.Token); got.Code != 200 { // a successful sign-in, which does not reset the count
		t.Error(got.Body)
	}
	b.Try("192.0.2.1", "wrong")
	b.Refused(from(b, "192.0.2.1", "wrong"), fault.InvalidAdmin)
	locked(b, from(b, "192.0.2.1", "wrong"), 1)
	locked(b, b.Try("192.0.2.1", "wrong"), 1)
	b.Now = b.Now.Add(time.Second)
	b.Refused(from(b, "192.0.2.1", "wrong"), fault.InvalidAdmin)
}

// A failure causes at most one commit, which contains neither the token nor the address.
func TestFailureWrites(t *testing.T) {
	b := controltest.New(t)
	commits := 0
	b.Memory.Before = func(command []byte) {
		if command[0] == 2 {
			commits++
		}
		if bytes.Contains(command, []byte("wrong-token-text")) {
			t.Error("the token is stored")
		}
	}
	for i := range 5 {
		b.Try("192.0.2.77", "wrong-token-text")
		if commits != i+1 {
			t.Errorf("%d commits for %d failures", commits, i+1)
		}
	}
	for range 10 {
		b.Try("192.0.2.77", "wrong-token-text")
	}
	if commits != 5 || b.Documents("s/") != 1 || b.Documents("a/") != 5 {
		t.Errorf("%d commits, %d counts, %d entries", commits, b.Documents("s/"), b.Documents("a/"))
	}
}

// Of many concurrent attempts, only the first freeFailures learn that their token is wrong.
func TestConcurrentSignIns(t *testing.T) {
	controltest.Quiet(t)
	b := controltest.New(t)
	var all sync.WaitGroup
	codes := make([]int, 200)
	for i := range codes {
		all.Go(func() {
			r := httptest.NewRequest("POST", controltest.Sessions, strings.NewReader(fmt.Sprintf(`{"token":"wrong%d"}`, i)))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			b.Service.ServeHTTP(w, r)
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
	b := controltest.New(t)
	b.Try("192.0.2.1", "wrong")
	commits := 0
	b.Memory.Before = func(command []byte) {
		if command[0] != 2 {
			return
		}
		commits++
		for key, value := range b.Memory.Rows {
			if strings.HasPrefix(key, "d/s/") {
				b.Memory.Rows[key] = append([]byte{value[0] + 1}, value[1:]...) // its version
			}
		}
	}
	locked(b, b.Try("192.0.2.1", "wrong"), 1)
	if commits != kernel.MaxAttempts {
		t.Errorf("%d commits", commits)
	}
	if got := b.Try("192.0.2.1", controltest.Token); got.Code != 200 {
		t.Error(got.Body)
	}
}

// If the commit of a failure reveals that the network is already locked out, the response does not say whether the
// token was wrong.
func TestLockoutDuringCommit(t *testing.T) {
	b := controltest.New(t)
	raced := false
	b.Memory.Before = func(command []byte) {
		if raced || command[0] != 2 {
			return
		}
		raced = true
		for range 5 {
			b.Try("192.0.2.1", "wrong")
		}
		b.Restart() // simulates another isolate
	}
	locked(b, b.Try("192.0.2.1", "wrong"), 1)
	if n := b.Documents("a/"); n != 5 {
		t.Errorf("%d entries", n)
	}
}

// A successful sign-in does not reset the count for the tokens of other roles.
func TestSignInDoesNotResetFailures(t *testing.T) {
	for _, right := range []string{controltest.Token, controltest.ViewerToken} {
		b := controltest.New(t)
		b.Viewer = controltest.ViewerToken
		for range auth.FreeFailures - 1 {
			b.Try("192.0.2.1", "wrong")
		}
		if got := b.Try("192.0.2.1", right); got.Code != 200 {
			t.Fatal(got.Body)
		}
		b.Try("192.0.2.1", "wrong")
		locked(b, b.Try("192.0.2.1", "wrong"), 1)
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
		b := controltest.New(t)
		var lines bytes.Buffer
		log.SetOutput(&lines)
		b.Token, b.Viewer = c.owner, c.viewer
		for range 3 {
			for text, want := range map[string]int{c.owner: c.owns, c.viewer: c.views} {
				if text == "" {
					continue
				}
				if got := from(b, "192.0.2.1", text); got.Code != want {
					t.Errorf("%+v: bearer %q: %d", c, text, got.Code)
				}
				if got := b.Try("192.0.2.2", text); got.Code != want {
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

// Each role's short token is reported once.
func TestShortTokensAreBothReported(t *testing.T) {
	b := controltest.New(t)
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	b.Token, b.Viewer = "short", "shorter"
	for range 3 {
		b.Do("GET", controltest.Sessions, "")
		b.Token = controltest.Token
		b.Do("GET", controltest.Sessions, "", "Authorization", "Bearer wrong")
		b.Token = "short"
	}
	for _, name := range []string{"POSTERN_ADMIN_TOKEN", "POSTERN_VIEWER_TOKEN"} {
		if n := strings.Count(lines.String(), name); n != 1 {
			t.Errorf("%s is reported %d times: %s", name, n, lines.String())
		}
	}
}

func TestPruneFailures(t *testing.T) {
	b := controltest.New(t)
	for i := range 1200 {
		b.Try(fmt.Sprintf("2001:db8:%x::1", i), "wrong")
	}
	b.Now = b.Now.Add(10 * time.Minute)
	for range 5 {
		b.Try("192.0.2.1", "wrong")
	}
	b.Now = b.Now.Add(14 * time.Minute)
	if err := b.Hourly(); err != nil || b.Documents("s/") != 1 {
		t.Errorf("%v, %d remain", err, b.Documents("s/"))
	}
	b.Now = b.Now.Add(time.Minute + time.Second)
	if err := b.Hourly(); err != nil || b.Documents("s/") != 0 {
		t.Errorf("%v, %d remain", err, b.Documents("s/"))
	}
	b.Memory.Fail = controltest.EverythingFails
	if b.Hourly() == nil {
		t.Error("no error")
	}
}
