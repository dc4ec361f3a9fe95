package config_test

import (
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

// The prices are different powers of ten, so the digits of a cost show which tokens were charged.
var priced = config.Model{Prices: config.Prices{
	Input: 1, Cached: 100, Write: 10_000, Write1h: 1_000_000, Output: 100_000_000,
	LongAbove: 50, LongInput: 2, LongCached: 200, LongOutput: 200_000_000,
}}

func TestCost(t *testing.T) {
	for name, c := range map[string]struct {
		usage chat.Usage
		want  money.Pico
	}{
		"no tokens":           {chat.Usage{}, 0},
		"uncached input":      {chat.Usage{Input: 7, Output: 3}, 3_00_00_00_07},
		"reasoning is output": {chat.Usage{Input: 7, Output: 3, Reasoning: 2}, 3_00_00_00_07},
		"all kinds of tokens": {chat.Usage{Input: 50, CachedInput: 20, CacheWrite: 10, CacheWrite1h: 5, Output: 1}, 1_05_10_20_15},
		"all input cached":    {chat.Usage{Input: 20, CachedInput: 20}, 20_00},
		"long prompt":         {chat.Usage{Input: 51, CachedInput: 20, Output: 1}, 2_00_00_40_62},
		"long cached prompt":  {chat.Usage{Input: 51, CachedInput: 51}, 1_02_00},
		// If there are more cached and written tokens than input tokens, they are charged, and the rest counts as 0.
		"parts exceed the input": {chat.Usage{Input: 5, CachedInput: 9, CacheWrite: 1}, 1_09_00},
		"cost overflows":         {chat.Usage{Input: 1, Output: 1 << 63}, money.Max},
		"sum overflows":          {chat.Usage{CacheWrite1h: 9_000_000_000_000, Output: 90_000_000_000}, money.Max},
	} {
		if got := priced.Cost(&c.usage); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// The saving is the difference from the cost of the same tokens at the plain price, which is 1 here, or 2 for a long
// prompt.
func TestCacheSaving(t *testing.T) {
	cheap := config.Model{
		Prices:  config.Prices{Input: 10, Cached: 1, Write: 12, Write1h: 20, Output: 50, LongAbove: 100, LongInput: 20, LongCached: 2, LongWrite: 25, LongOutput: 90},
		Factors: []config.Factor{{Term: "service_tier=priority", Num: 7, Den: 4}},
	}
	for name, c := range map[string]struct {
		usage chat.Usage
		want  money.Pico
	}{
		"no cache":                         {chat.Usage{Input: 50, Output: 9}, 0},
		"read":                             {chat.Usage{Input: 50, CachedInput: 40, Output: 9}, 40 * 9},
		"read of a long prompt":            {chat.Usage{Input: 101, CachedInput: 40}, 40 * 18},
		"written and never read":           {chat.Usage{Input: 50, CacheWrite: 30, Output: 9}, -30 * 2},
		"written for an hour":              {chat.Usage{Input: 50, CacheWrite1h: 30}, -30 * 10},
		"read, and written for both times": {chat.Usage{Input: 90, CachedInput: 40, CacheWrite: 20, CacheWrite1h: 10}, 40*9 - 20*2 - 10*10},
		"more read than prompt tokens":     {chat.Usage{Input: 5, CachedInput: 40}, 40 * 9},
		"another tier":                     {chat.Usage{Input: 4, CachedInput: 4, Extras: &chat.Extras{Terms: "service_tier=priority", FeePico: 1000}}, 4 * 9 * 7 / 4},
		"a cost that overflows":            {chat.Usage{Input: 1 << 63, CachedInput: 1 << 62, Output: 1 << 63}, 0},
	} {
		if got := cheap.CacheSaving(&c.usage); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
