package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// Wrong tokens lock further wrong ones from the same network out, each for twice as long as the one before.
const (
	freeFailures   = 5                // the last of these is the first to lock
	failureWindow  = 15 * time.Minute // in which they have to fall; also for how long all must be quiet afterwards
	shortLockout   = time.Second
	longestLockout = 15 * time.Minute
	maxLockouts    = 1000 // how many an instance remembers
)

// slowdownPrefix starts the keys of the documents that count failures: then comes the network's SHA-256.
const slowdownPrefix = "s/"

// failures is one of those documents.
type failures struct {
	Count   int   `json:"count"`
	SinceMs int64 `json:"since"` // the first of them
	UntilMs int64 `json:"until"` // the end of the lockout; 0: none yet
}

// over tells whether failures are so long ago that they count no more.
func (f failures) over(now time.Time) bool {
	from := f.SinceMs
	if f.UntilMs != 0 {
		from = f.UntilMs
	}
	return now.UnixMilli() >= from+failureWindow.Milliseconds()
}

// lockedFor is how long the lockout still is; not above 0 if there is none.
func (f failures) lockedFor(now time.Time) time.Duration {
	return time.UnixMilli(f.UntilMs).Sub(now)
}

// another counts one more failure.
func (f failures) another(now time.Time) failures {
	if f.Count == 0 || f.over(now) {
		f = failures{SinceMs: now.UnixMilli()}
	}
	f.Count++
	if beyond := f.Count - freeFailures; beyond >= 0 {
		lockout := longestLockout
		if beyond < 10 { // 2^10 seconds are over 15 minutes
			lockout = min(lockout, shortLockout<<beyond)
		}
		f.UntilMs = now.Add(lockout).UnixMilli()
	}
	return f
}

// failed counts a wrong token and returns what to answer: the verdict on it, or that the caller has to wait.
// The count is one commit, so of wrong tokens that come at the same time, too, no more than the free ones get
// the verdict. While a network is locked out, nothing is counted, asked of the Directory or logged.
//
// A right token never comes here: whoever sends wrong ones from the same address keeps nobody out. So whether
// a token is right can be asked as often as one likes, and what makes asking hopeless is the token's length
// (minTokenBytes). What the lockout protects is the Directory and the log.
func (h *handler) failed(r *http.Request, via string, verdict error) error {
	network := clientNetwork(r)
	if err := h.lockedOut(network); err != nil {
		return err
	}
	c := &call{Context: r.Context(), request: r, who: identity{Name: "unknown", Role: "none", Via: via}}
	counted, err := h.count(c, network)
	var refused *refusal
	if errors.As(err, &refused) && refused.Fault == fault.Unavailable {
		// It could not be counted. It is not logged more often than this either.
		counted = failures{UntilMs: h.Now().Add(shortLockout).UnixMilli()}
	}
	h.lockouts.note(network, counted, h.Now())
	if err != nil {
		return err
	}
	return verdict
}

// count commits one more failure of a network, with its audit entry. It refuses a network that is locked out,
// whose lockout it returns, and one that tries so often at once that no commit holds.
func (h *handler) count(c *call, network string) (counted failures, err error) {
	err = h.store.change(c, func() (change, error) {
		found, document, err := h.failuresOf(c, network)
		if err != nil {
			return change{}, err
		}
		if wait := found.lockedFor(h.Now()); wait > 0 {
			counted = found
			return change{}, slowedDown(wait)
		}
		counted = found.another(h.Now())
		if document.Value, err = json.Marshal(counted); err != nil {
			return change{}, err
		}
		entry, err := h.audited(c, "session.refuse", "", "", nil, nil)
		return change{writes: []directory.Write{document, entry}}, err
	})
	if errors.Is(err, errConflict) {
		return failures{}, slowedDown(shortLockout)
	}
	return counted, err
}

// failuresOf reads a network's failures, and makes the write that stands for the document as it is read.
func (h *handler) failuresOf(ctx context.Context, network string) (f failures, write directory.Write, err error) {
	sum := sha256.Sum256([]byte(network))
	write, err = h.store.asRead(ctx, slowdownPrefix+hex.EncodeToString(sum[:]))
	if err != nil || write.Version == 0 {
		return f, write, err
	}
	return f, write, json.Unmarshal(write.Value, &f)
}

// pruneSlowdowns removes the documents of failures that count no more.
func (h *handler) pruneSlowdowns(ctx context.Context) error {
	return h.prune(ctx, directory.List{Prefix: slowdownPrefix}, func(d directory.Document) bool {
		var f failures
		return json.Unmarshal(d.Value, &f) != nil || f.over(h.Now())
	})
}

// lockouts are those that this instance knows of: whoever keeps trying costs the Directory nothing.
type lockouts struct {
	mu    sync.Mutex
	until map[string]time.Time // by network
}

// lockedOut refuses a network's wrong tokens without a count.
func (h *handler) lockedOut(network string) error {
	h.lockouts.mu.Lock()
	defer h.lockouts.mu.Unlock()
	if wait := h.lockouts.until[network].Sub(h.Now()); wait > 0 {
		return slowedDown(wait)
	}
	return nil
}

// note remembers a lockout. When there are too many, what is over goes, and one of the others if nothing is.
func (l *lockouts) note(network string, f failures, now time.Time) {
	if f.lockedFor(now) <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	if len(l.until) >= maxLockouts {
		l.makeRoom(now)
	}
	l.until[network] = time.UnixMilli(f.UntilMs)
}

func (l *lockouts) makeRoom(now time.Time) {
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
