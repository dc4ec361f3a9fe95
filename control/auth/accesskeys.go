package auth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"sync"
	"time"

	"github.com/postern-ai/postern/control/kernel"
)

// The cache of a team's keys. Access rotates its keys every few weeks and publishes the next key in advance.
const (
	certsPath         = "/cdn-cgi/access/certs"
	accessKeysKept    = time.Hour
	accessKeysRefetch = time.Minute // minimum interval between fetches while keys are cached
	accessFetchWindow = 10 * time.Second
	accessFetchBurst  = 4 // maximum number of fetches per window while no keys are cached; each concurrent request fetches for itself
	maxAccessKeys     = 16
	minModulusBits    = 2048
	maxModulusBits    = 4096
)

// accessKeys caches a team's keys in this instance. The lock is never held during a fetch. No request waits for
// another request's fetch, because a waiting request would hang on Workers.
type accessKeys struct {
	mu      sync.Mutex
	issuer  string
	byID    map[string]*rsa.PublicKey
	fetched time.Time   // when byID was fetched
	starts  []time.Time // start times of the latest fetches
}

// errNoAccessKeys means that an assertion cannot be checked at the moment. The assertion may be valid.
var errNoAccessKeys = errors.New("the keys of Cloudflare Access are not available")

// accessKey returns the issuer's key with the given ID. It fetches the key set if the key is not cached.
func (auth *Authenticator) accessKey(ctx context.Context, issuer, id string) (*rsa.PublicKey, error) {
	found, fetch, err := auth.accessKeys.find(issuer, id, auth.Now())
	if !fetch {
		return found, err
	}
	body, err := auth.Fetch(ctx, issuer+certsPath)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	keys, err := parseAccessKeys(body)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	auth.accessKeys.put(issuer, keys, auth.Now())
	if found, ok := keys[id]; ok {
		return found, nil
	}
	return nil, kernel.ErrInvalidToken
}

// find returns a cached key, rejects the ID, or tells the caller to fetch.
func (k *accessKeys) find(issuer, id string, now time.Time) (found *rsa.PublicKey, fetch bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.issuer != issuer || now.Sub(k.fetched) >= accessKeysKept {
		k.issuer, k.byID = issuer, nil
	}
	if found, ok := k.byID[id]; ok {
		return found, false, nil
	}
	if k.mayFetch(now) {
		k.starts = append(k.starts, now)
		return nil, true, nil
	}
	if k.byID == nil || k.starts[len(k.starts)-1].After(k.fetched) {
		return nil, false, kernel.Unavailable(errNoAccessKeys) // a fetch is in flight or has failed
	}
	return nil, false, kernel.ErrInvalidToken
}

// mayFetch limits how often invented key IDs cause a fetch.
func (k *accessKeys) mayFetch(now time.Time) bool {
	window, burst := accessFetchWindow, accessFetchBurst
	if k.byID != nil {
		window, burst = accessKeysRefetch, 1
	}
	for len(k.starts) > 0 && now.Sub(k.starts[0]) >= accessKeysRefetch {
		k.starts = k.starts[1:]
	}
	n := len(k.starts)
	return n < burst || now.Sub(k.starts[n-burst]) >= window
}

func (k *accessKeys) put(issuer string, keys map[string]*rsa.PublicKey, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.issuer, k.byID, k.fetched = issuer, keys, now
}

// jwk is a key of a JSON Web Key Set (RFC 7517). RSA numbers are big-endian in base64url (RFC 7518, section
// 6.3.1).
type jwk struct {
	Kty, Kid, Alg, Use, N, E string
}

// parseAccessKeys extracts the RSA keys of a key set and ignores all others. A set without RSA keys is an
// error.
func parseAccessKeys(body []byte) (map[string]*rsa.PublicKey, error) {
	var set struct{ Keys []jwk }
	if len(body) > kernel.MaxFetchBytes {
		return nil, errors.New("the key set of Cloudflare Access is too long")
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, errors.New("the key set of Cloudflare Access is not JSON")
	}
	keys := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys[:min(len(set.Keys), maxAccessKeys)] {
		if key, ok := k.rsa(); ok {
			keys[k.Kid] = key
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the key set of Cloudflare Access has no RS256 key")
	}
	return keys, nil
}

func (k jwk) rsa() (*rsa.PublicKey, bool) {
	if k.Kty != "RSA" || k.Kid == "" || k.Alg != "" && k.Alg != "RS256" || k.Use != "" && k.Use != "sig" {
		return nil, false
	}
	n, err := base64.RawURLEncoding.DecodeString(k.N)
	if err != nil {
		return nil, false
	}
	e, err := base64.RawURLEncoding.DecodeString(k.E)
	if err != nil || len(e) > 3 {
		return nil, false
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	bits := key.N.BitLen()
	return key, bits >= minModulusBits && bits <= maxModulusBits && key.E >= 3 && key.E%2 == 1
}
