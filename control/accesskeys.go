package control

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"sync"
	"time"
)

// How a team's keys are kept. Access changes them every few weeks and has the next one published before.
const (
	certsPath         = "/cdn-cgi/access/certs"
	accessKeysKept    = time.Hour
	accessKeysRefetch = time.Minute // at least between two fetches, while there are keys
	accessFetchWindow = 10 * time.Second
	accessFetchBurst  = 4 // in that window, while there are none: each of several requests fetches for itself
	maxAccessKeys     = 16
	minModulusBits    = 2048
	maxModulusBits    = 4096
)

// accessKeys are a team's keys, as this instance has them. The lock is never held across a fetch, and no
// request waits for another's, which on Workers would hang it.
type accessKeys struct {
	mu      sync.Mutex
	issuer  string
	byID    map[string]*rsa.PublicKey
	fetched time.Time   // when byID came
	starts  []time.Time // of the latest fetches
}

// errNoAccessKeys is for those whose assertion cannot be checked now. They may well be right.
var errNoAccessKeys = errors.New("the keys of Cloudflare Access are not at hand")

// accessKey is the issuer's key of an id, from the issuer itself if it has to be.
func (h *handler) accessKey(ctx context.Context, issuer, id string) (*rsa.PublicKey, error) {
	found, fetch, err := h.accessKeys.find(issuer, id, h.Now())
	if !fetch {
		return found, err
	}
	body, err := h.Fetch(ctx, issuer+certsPath)
	if err != nil {
		return nil, unavailable(err)
	}
	keys, err := parseAccessKeys(body)
	if err != nil {
		return nil, unavailable(err)
	}
	h.accessKeys.put(issuer, keys, h.Now())
	if found, ok := keys[id]; ok {
		return found, nil
	}
	return nil, errWrongKey
}

// find returns a key that is there, or says to fetch, or refuses.
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
		return nil, false, unavailable(errNoAccessKeys) // a fetch is under way, or failed
	}
	return nil, false, errWrongKey
}

// mayFetch keeps those who make up ids from having this deployment fetch for each.
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

// jwk is a key in a set of RFC 7517; RSA's numbers are big-endian in base64url (RFC 7518, section 6.3.1).
type jwk struct {
	Kty, Kid, Alg, Use, N, E string
}

// parseAccessKeys takes the RSA keys out of a set, and leaves others alone. A set without any is an error.
func parseAccessKeys(body []byte) (map[string]*rsa.PublicKey, error) {
	var set struct{ Keys []jwk }
	if len(body) > MaxFetchBytes {
		return nil, errors.New("the set of keys is too long")
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, errors.New("the set of keys is not JSON")
	}
	keys := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys[:min(len(set.Keys), maxAccessKeys)] {
		if key, ok := k.rsa(); ok {
			keys[k.Kid] = key
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the set has no key for RS256")
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
