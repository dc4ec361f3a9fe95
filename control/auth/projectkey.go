package auth

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"

	guesses "github.com/postern-ai/postern/core/route"
)

// The cache of verdicts on keys in this instance.
const (
	maxSeenKeys    = 1000
	unknownKeepFor = 10 * time.Second // as in the gateway; new keys are not affected, because nobody can have tried them before they existed
)

var (
	errMissingKey = &kernel.Refusal{Fault: fault.MissingKey}
	errInvalidKey = &kernel.Refusal{Fault: fault.InvalidKey}
	errTwoKeys    = kernel.Refuse(fault.InvalidRequest, "X-API-Key", keys.Ambiguous)
)

// admitKey authenticates a request by its API key, requires the route's permission, and sets the call's actor and
// project. Each request is checked with the key's meter, so a deactivation takes effect with the next request. The
// error is a 400, 401, 403, 429 or 503.
func (auth *Authenticator) admitKey(c *kernel.Call, permission doc.Permission) error {
	token, _ := bearer(c.Request.Header)
	key, ambiguous := keys.Choose(strings.TrimSpace(kernel.HeaderValue(c.Request.Header, "X-API-Key")), token)
	if ambiguous {
		return errTwoKeys
	}
	if key == "" {
		return errMissingKey
	}
	if _, _, ok := keys.Parse(key); !ok {
		return errInvalidKey
	}
	record, err := auth.checkKey(c, keys.Hash(key))
	if err != nil {
		return err
	}
	if !record.May(permission) {
		return kernel.Refuse(fault.Forbidden, "permissions", "must include "+doc.PermissionName(permission))
	}
	c.Project = record.ProjectID
	c.Actor = kernel.Identity{Name: record.KeyID, Role: kernel.ProjectKey, Via: kernel.ViaKey}
	return nil
}

// checkKey returns the current record of an active key from its meter. Unknown keys are limited per network, because
// each invented key would otherwise create an object. Keys that this instance knows are exempt.
func (auth *Authenticator) checkKey(c *kernel.Call, hash string) (doc.Record, error) {
	network := kernel.ClientNetwork(c.Request)
	if err := auth.seenKeys.check(hash, network, auth.Now()); err != nil {
		return doc.Record{}, err
	}
	reply, err := auth.keyVerdict(c, hash)
	if err != nil {
		return doc.Record{}, err
	}
	auth.seenKeys.remember(hash, network, reply.Verdict != keymeter.Unknown, auth.Now())
	switch reply.Verdict {
	case keymeter.Stale:
		return doc.DecodeRecord(reply.Record)
	case keymeter.Unknown, keymeter.Inactive:
		return doc.Record{}, errInvalidKey
	}
	return doc.Record{}, kernel.Unavailable(abi.ErrMalformed)
}

// keyVerdict calls the key's meter. The command has version 0, which is older than any record. The verdict on an
// active key is therefore Stale, and the meter adds the key's record.
func (auth *Authenticator) keyVerdict(ctx context.Context, hash string) (keymeter.AdmitReply, error) {
	command := keymeter.Admit{Mode: keymeter.ModeCheck}
	reply, err := auth.Store.Objects.Call(ctx, abi.ClassKeyMeter, hash, "", command.Encode())
	if err != nil {
		return keymeter.AdmitReply{}, kernel.Unavailable(err)
	}
	return keymeter.DecodeAdmitReply(reply)
}

// seenKeys is what this instance knows about keys: which exist, which do not, and how many unknown keys each network
// has tried.
type seenKeys struct {
	mu      sync.Mutex
	known   map[string]time.Time // by hash; the time until which the key counts as missing; zero: the key exists
	guesses guesses.Circuits
}

// check rejects a key that is known not to exist. It also rejects an unknown key if the network has tried too many
// unknown keys. It never accepts a key, because only the key's meter can do that.
func (s *seenKeys) check(hash, network string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	missingUntil, known := s.known[hash]
	switch wait := s.guesses.GuessWaitMs(network, uint64(now.UnixMilli())); {
	case known && missingUntil.IsZero():
		return nil
	case known && now.Before(missingUntil):
		return errInvalidKey
	case wait > 0:
		return tooManyGuesses(wait)
	}
	return nil
}

// remember records whether a key exists. A full cache evicts an arbitrary entry.
func (s *seenKeys) remember(hash, network string, exists bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missingUntil time.Time
	if !exists {
		s.guesses.Guessed(network, uint64(now.UnixMilli()))
		missingUntil = now.Add(unknownKeepFor)
	}
	if s.known == nil {
		s.known = map[string]time.Time{}
	}
	for other := range s.known {
		if len(s.known) < maxSeenKeys {
			break
		}
		delete(s.known, other)
	}
	s.known[hash] = missingUntil
}

// tooManyGuesses returns a 429 for an unknown key. Its Retry-After is rounded up to whole seconds.
func tooManyGuesses(waitMs uint64) *kernel.Refusal {
	return &kernel.Refusal{Fault: fault.RateLimited, RetryAfter: strconv.FormatUint((waitMs+999)/1000, 10)}
}
