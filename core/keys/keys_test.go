package keys_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/keys"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var kinds = []keys.Kind{keys.Gateway, keys.Project}

var environments = []keys.Environment{keys.Production, keys.Development}

// randoms contains extreme and arbitrary values for New's argument.
func randoms() [][keys.RandomBytes]byte {
	source := rand.NewChaCha8([32]byte{1})
	all := make([][keys.RandomBytes]byte, 200)
	for i := range all {
		_, _ = source.Read(all[i][:])
	}
	for i := range all[0] {
		all[0][i], all[1][i], all[2][i] = 0, 0xff, 0
	}
	all[2][keys.RandomBytes-1] = 1
	return all
}

func TestNewKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range kinds {
		for _, env := range environments {
			for _, random := range randoms() {
				key := keys.New(kind, env, random)
				parsedKind, parsedEnv, ok := keys.Parse(key)
				if !ok || parsedKind != kind || parsedEnv != env {
					t.Errorf("%s: %d, %d, %v", key, parsedKind, parsedEnv, ok)
				}
				if len(key) != keys.Length || !strings.HasPrefix(key, keys.Prefix(kind, env)) || strings.Trim(key[8:], base62) != "" {
					t.Errorf("%s does not have the form of a key", key)
				}
				if seen[key] || key != keys.New(kind, env, random) {
					t.Errorf("%s is not unique or not reproducible", key)
				}
				seen[key] = true
			}
		}
	}
}

// TestAllRandomBitsCount: flipping any bit of the randomness changes the key.
func TestAllRandomBitsCount(t *testing.T) {
	random := randoms()[3]
	key := keys.New(keys.Gateway, keys.Production, random)
	for bit := range 8 * keys.RandomBytes {
		other := random
		other[bit/8] ^= 1 << (bit % 8)
		if keys.New(keys.Gateway, keys.Production, other)[:31] == key[:31] {
			t.Errorf("bit %d does not change the key", bit)
		}
	}
}

func TestPrefixes(t *testing.T) {
	for want, got := range map[string]string{
		"sk_live_": keys.Prefix(keys.Gateway, keys.Production), "sk_test_": keys.Prefix(keys.Gateway, keys.Development),
		"pk_live_": keys.Prefix(keys.Project, keys.Production), "pk_test_": keys.Prefix(keys.Project, keys.Development),
	} {
		if got != want {
			t.Errorf("prefix %s, want %s", got, want)
		}
	}
}

// TestChecksumSeesOneCharacter: a key with one character changed, moved, removed or inserted is malformed.
func TestChecksumSeesOneCharacter(t *testing.T) {
	for _, random := range randoms()[:5] {
		key := keys.New(keys.Gateway, keys.Production, random)
		for i := range key {
			for _, c := range base62 + "_- \x00é" {
				if changed := key[:i] + string(c) + key[i+1:]; changed != key {
					rejected(t, changed)
				}
			}
			rejected(t, key[:i]+key[i+1:])
			rejected(t, key[:i]+"0"+key[i:])
			if i > 0 && key[i] != key[i-1] {
				rejected(t, key[:i-1]+key[i:i+1]+key[i-1:i]+key[i+1:])
			}
		}
	}
}

func rejected(t *testing.T, key string) {
	t.Helper()
	if kind, env, ok := keys.Parse(key); ok {
		t.Errorf("%q was accepted: %d, %d", key, kind, env)
	}
}

func TestMalformedKeys(t *testing.T) {
	for _, text := range []string{
		"", "sk_live_", "sk_", strings.Repeat("0", keys.Length), "sk_live_" + strings.Repeat("0", keys.Length-8),
		strings.Repeat("sk_live_", 5)[:keys.Length], strings.Repeat("\x00", keys.Length), strings.Repeat("x", 1<<20),
	} {
		rejected(t, text)
	}
}

func TestHash(t *testing.T) {
	key := keys.New(keys.Gateway, keys.Production, randoms()[3])
	sum := sha256.Sum256([]byte(key))
	if got := keys.Hash(key); got != hex.EncodeToString(sum[:]) {
		t.Errorf("hash %s, want %x", got, sum)
	}
	if got := keys.Hex([]byte{0, 0x0f, 0xa5, 0xff}); got != "000fa5ff" {
		t.Errorf("hexadecimal %s", got)
	}
}

// TestChoose checks all pairs of a well-formed key, another well-formed key, another vendor's credential, a key with
// a typo, and nothing.
func TestChoose(t *testing.T) {
	all := randoms()
	ours, other := keys.New(keys.Gateway, keys.Production, all[3]), keys.New(keys.Project, keys.Development, all[4])
	typo := ours[:len(ours)-1] + "_"
	for _, c := range []struct {
		first, second, want string
		ambiguous           bool
	}{
		{"", "", "", false},
		{ours, "", ours, false}, {"", ours, ours, false}, {ours, ours, ours, false},
		{ours, "sk-ant-foreign", ours, false}, {"sk-ant-foreign", ours, ours, false},
		{ours, typo, ours, false}, {typo, ours, ours, false},
		{ours, other, "", true}, {other, ours, "", true},
		{typo, "", typo, false}, {"", typo, typo, false}, {"foreign", "another", "foreign", false}, {typo, "foreign", typo, false},
	} {
		if got, ambiguous := keys.Choose(c.first, c.second); got != c.want || ambiguous != c.ambiguous {
			t.Errorf("%q and %q: %q %t, want %q %t", c.first, c.second, got, ambiguous, c.want, c.ambiguous)
		}
	}
}
