package auth

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// The cache of lockouts is bounded. Expired lockouts are evicted first.
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

// The cache of verdicts is bounded.
func TestSeenKeys(t *testing.T) {
	var s seenKeys
	for n := range 3 * maxSeenKeys {
		s.remember(fmt.Sprint(n), fmt.Sprintf("2001:db8:%x::1", n), false, time.UnixMilli(1_000_000))
	}
	if n := len(s.known); n != maxSeenKeys {
		t.Errorf("%d keys cached", n)
	}
}
