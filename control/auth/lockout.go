package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// Repeated wrong tokens lock out further wrong tokens from the same network. Each lockout is twice as long as the one
// before. The count covers all failures within failureWindow. After a lockout, the count is reset once failureWindow
// passes without another failure.
const (
	freeFailures   = 5 // the last of these failures starts the first lockout
	failureWindow  = 15 * time.Minute
	shortLockout   = time.Second
	longestLockout = 15 * time.Minute
	maxLockouts    = 1000 // cached per instance
)

// failuresPrefix is the key prefix of the documents that count failures. It is followed by the SHA-256 hash of the
// network.
const failuresPrefix = "s/"

// failures is the content of a document under failuresPrefix.
type failures struct {
	Count   int   `json:"count"`
	SinceMs int64 `json:"since"` // time of the first failure
	UntilMs int64 `json:"until"` // end of the lockout; 0: none yet
}

// expired reports whether the failures no longer count.
func (f failures) expired(now time.Time) bool {
	from := f.SinceMs
	if f.UntilMs != 0 {
		from = f.UntilMs
	}
	return now.UnixMilli() >= from+failureWindow.Milliseconds()
}

// lockedFor returns the remaining time of the lockout. Zero or less means that no lockout is in effect.
func (f failures) lockedFor(now time.Time) time.Duration {
	return time.UnixMilli(f.UntilMs).Sub(now)
}

func (f failures) plusOne(now time.Time) failures {
	if f.Count == 0 || f.expired(now) {
		f = failures{SinceMs: now.UnixMilli()}
	}
	f.Count++
	if beyond := f.Count - freeFailures; beyond >= 0 {
		lockout := longestLockout
		if beyond < 10 { // 2^10 seconds exceed 15 minutes
			lockout = min(lockout, shortLockout<<beyond)
		}
		f.UntilMs = now.Add(lockout).UnixMilli()
	}
	return f
}

// rejectToken counts a wrong token and returns the error to send: the verdict, or a 429 during a lockout. Each
// failure is counted in one commit, so at most freeFailures wrong tokens get the verdict, even if they are
// concurrent. While a network is locked out, its wrong tokens are not counted and cause no Directory calls or log
// lines.
//
// Correct tokens never get here, so wrong tokens never lock out a correct one from the same address. The number of
// guesses is therefore unlimited. The length of the token (minTokenBytes) is what makes guessing hopeless. The
// lockout only protects the Directory and the log.
func (auth *Authenticator) rejectToken(r *http.Request, via string, verdict error) error {
	network := kernel.ClientNetwork(r)
	if err := auth.checkLockout(network); err != nil {
		return err
	}
	c := &kernel.Call{Context: r.Context(), Request: r, Action: "session.refuse", Actor: kernel.Identity{Name: "unknown", Role: "none", Via: via}}
	counted, err := auth.countFailure(c, network)
	var rejection *kernel.Refusal
	if errors.As(err, &rejection) && rejection.Fault == fault.Unavailable {
		// The failure could not be counted. A short lockout limits the log to one line per second.
		counted = failures{UntilMs: auth.Now().Add(shortLockout).UnixMilli()}
	}
	auth.lockouts.remember(network, counted, auth.Now())
	if err != nil {
		return err
	}
	return verdict
}

// countFailure commits one more failure of a network, with its audit entry. For a network that is already locked out,
// it returns the existing lockout and a 429. If no commit succeeds because the network has too many concurrent
// failures, it also returns a 429.
func (auth *Authenticator) countFailure(c *kernel.Call, network string) (counted failures, err error) {
	err = auth.Store.Change(c, func() (kernel.Change, error) {
		found, document, err := auth.failuresOf(c, network)
		if err != nil {
			return kernel.Change{}, err
		}
		if wait := found.lockedFor(auth.Now()); wait > 0 {
			counted = found
			return kernel.Change{}, kernel.LockedOut(wait)
		}
		counted = found.plusOne(auth.Now())
		if document.Value, err = json.Marshal(counted); err != nil {
			return kernel.Change{}, err
		}
		entry, err := auth.AuditWrite(c, "", "", nil, nil)
		return kernel.Change{Writes: []directory.Write{document, entry}}, err
	})
	if errors.Is(err, kernel.ErrConflict) {
		return failures{}, kernel.LockedOut(shortLockout)
	}
	return counted, err
}

// failuresOf reads a network's failures, and returns a write based on the document's current version.
func (auth *Authenticator) failuresOf(ctx context.Context, network string) (f failures, write directory.Write, err error) {
	sum := sha256.Sum256([]byte(network))
	write, err = auth.Store.ReadForWrite(ctx, failuresPrefix+hex.EncodeToString(sum[:]))
	if err != nil || write.Version == 0 {
		return f, write, err
	}
	return f, write, json.Unmarshal(write.Value, &f)
}

// PruneFailures deletes documents whose failures have expired.
func (auth *Authenticator) PruneFailures(ctx context.Context) error {
	return auth.Prune(ctx, directory.List{Prefix: failuresPrefix}, func(d directory.Document) bool {
		var f failures
		return json.Unmarshal(d.Value, &f) != nil || f.expired(auth.Now())
	})
}

// lockouts caches the lockouts that this instance knows, so repeated attempts cause no Directory calls.
type lockouts struct {
	mu    sync.Mutex
	until map[string]time.Time // by network
}

// checkLockout rejects a wrong token during a lockout without counting it.
func (auth *Authenticator) checkLockout(network string) error {
	auth.lockouts.mu.Lock()
	defer auth.lockouts.mu.Unlock()
	if wait := auth.lockouts.until[network].Sub(auth.Now()); wait > 0 {
		return kernel.LockedOut(wait)
	}
	return nil
}

// remember caches a lockout. A full cache first evicts lockouts that are over, then any other.
func (l *lockouts) remember(network string, f failures, now time.Time) {
	if f.lockedFor(now) <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	if len(l.until) >= maxLockouts {
		l.evict(now)
	}
	l.until[network] = time.UnixMilli(f.UntilMs)
}

func (l *lockouts) evict(now time.Time) {
	for network, until := range l.until {
		if !now.Before(until) {
			delete(l.until, network)
		}
	}
	for network := range l.until {
		if len(l.until) < maxLockouts {
			break
		}
		delete(l.until, network)
	}
}
