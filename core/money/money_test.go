package money_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/core/money"
)

func init() { suite.FixSeed(nil) }

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		unit money.Pico
		want money.Pico
		ok   bool
	}{
		{"0", money.Dollar, 0, true},
		{"0.15", money.Dollar, 150_000_000_000, true},
		{"00.15", money.Dollar, 150_000_000_000, true},
		{"1", money.Dollar, money.Dollar, true},
		{"1.", money.Dollar, money.Dollar, true},
		{".5", money.Dollar, money.Dollar / 2, true},
		{"100", money.Cent, money.Dollar, true},
		{"0.000000000001", money.Dollar, 1, true},
		{"0.0000000000010000", money.Dollar, 1, true},
		{"0.0000000001", money.Cent, 1, true},
		{"9000000", money.Dollar, 9_000_000 * money.Dollar, true},
		{"9223371.999999999999", money.Dollar, 9_223_371_999_999_999_999, true},
		{"0.0000000000001", money.Dollar, 0, false},
		{"0.00000000001", money.Cent, 0, false},
		{"0.00000000000001", money.Dollar, 0, false},
		{"0.00000000000000000009", money.Dollar, 0, false},
		{"", money.Dollar, 0, false},
		{".", money.Dollar, 0, false},
		{"-1", money.Dollar, 0, false},
		{"+1", money.Dollar, 0, false},
		{"1e3", money.Dollar, 0, false},
		{"1.2.3", money.Dollar, 0, false},
		{"1,5", money.Dollar, 0, false},
		{" 1", money.Dollar, 0, false},
		{"1 ", money.Dollar, 0, false},
		{"0x1", money.Dollar, 0, false},
		{"٣", money.Dollar, 0, false},
		{"1.0000000000000000000000000a", money.Dollar, 0, false},
		{"9223373", money.Dollar, 0, false},
		{"10000000", money.Dollar, 0, false},
		{"18446744073709551617", money.Dollar, 0, false},
		{strings.Repeat("9", 400), money.Dollar, 0, false},
		{strings.Repeat("9", 400), 1, 0, false},
	} {
		got, ok := money.Parse(c.text, c.unit)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("Parse(%.60q, %d) = %d, %v, want %d, %v", c.text, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		amount, unit money.Pico
		want         string
	}{
		{0, money.Dollar, "0"},
		{1, money.Dollar, "0.000000000001"},
		{1, money.Cent, "0.0000000001"},
		{money.Dollar, money.Dollar, "1"},
		{money.Dollar, money.Cent, "100"},
		{150_000_000_000, money.Dollar, "0.15"},
		{-150_000_000_000, money.Dollar, "-0.15"},
		{10 * money.Dollar, money.Dollar, "10"},
		{money.Max, money.Dollar, "9223372.036854775807"},
		{-money.Max, money.Dollar, "-9223372.036854775807"},
		{math.MinInt64, money.Dollar, "-9223372.036854775807"},
		{6667, 100, "66.67"},
		{6650, 100, "66.5"},
		{10000, 100, "100"},
	} {
		if got := string(money.Append([]byte("="), c.amount, c.unit)); got != "="+c.want {
			t.Errorf("Append(%d, %d) = %s, want %s", c.amount, c.unit, got[1:], c.want)
		}
	}
}

func TestAppendParseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 9_000_000*money.Dollar).Draw(t, "amount")
		unit := rapid.SampledFrom([]money.Pico{money.Dollar, money.Cent}).Draw(t, "unit")
		text := string(money.Append(nil, amount, unit))
		if got, ok := money.Parse(text, unit); !ok || got != amount {
			t.Fatalf("%d is formatted as %s, which is parsed as %d, %v", amount, text, got, ok)
		}
		if !json.Valid([]byte(text)) || strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
			t.Fatalf("%d is formatted as %s", amount, text)
		}
	})
}

// TestParseIsExact compares Parse with rational arithmetic.
func TestParseIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{0,8}(\.[0-9]{0,14})?`).Draw(t, "text")
		whole, places, _ := strings.Cut(text, ".")
		want, _ := new(big.Rat).SetString("0" + whole + "." + places + "0")
		want.Mul(want, new(big.Rat).SetInt64(money.Dollar))
		representable := text != "" && text != "." && want.IsInt() && want.Num().Cmp(big.NewInt(9_000_000*money.Dollar)) <= 0
		got, ok := money.Parse(text, money.Dollar)
		if ok && (!want.IsInt() || want.Num().Cmp(big.NewInt(got)) != 0) || representable && !ok {
			t.Fatalf("%q is parsed as %d, %v, want %s", text, got, ok, want.FloatString(3))
		}
	})
}

func TestCost(t *testing.T) {
	for _, c := range []struct {
		count uint64
		each  money.Pico
		want  money.Pico
	}{
		{0, money.Max, 0},
		{5, 0, 0},
		{1_000_000, 150_000, 150_000_000_000},
		{1, money.Max, money.Max},
		{2, money.Max, money.Max},
		{2, money.Max/2 + 1, money.Max},
		{1<<63 - 1, 1, money.Max},
		{1 << 63, 1, money.Max},
		{math.MaxUint64, 1, money.Max},
		{math.MaxUint64, money.Max, money.Max},
		{1 << 32, 1 << 32, money.Max},
		{1 << 32, 1 << 31, money.Max},
		{1 << 32, 1<<31 - 1, (1<<31 - 1) << 32},
	} {
		if got := money.Cost(c.count, c.each); got != c.want {
			t.Errorf("Cost(%d, %d) = %d, want %d", c.count, c.each, got, c.want)
		}
	}
}

func TestCostAndAddSaturate(t *testing.T) {
	limit := big.NewInt(money.Max)
	atMost := func(v *big.Int) int64 {
		if v.Cmp(limit) > 0 {
			return money.Max
		}
		return v.Int64()
	}
	rapid.Check(t, func(t *rapid.T) {
		count, each := rapid.Uint64().Draw(t, "count"), rapid.Int64Min(0).Draw(t, "each")
		product := new(big.Int).Mul(new(big.Int).SetUint64(count), big.NewInt(each))
		if got := money.Cost(count, each); got != atMost(product) {
			t.Fatalf("Cost = %d, want %d", got, atMost(product))
		}
		other := rapid.Int64Min(0).Draw(t, "other")
		sum := new(big.Int).Add(big.NewInt(each), big.NewInt(other))
		if got := money.Add(each, other); got != atMost(sum) {
			t.Fatalf("Add = %d, want %d", got, atMost(sum))
		}
	})
}
