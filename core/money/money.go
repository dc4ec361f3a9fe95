// Package money does all arithmetic on prices and costs. An amount is an int64 of picodollars (10^-12 dollars), so
// a price of one dollar per million tokens is exactly 10^6 picodollars per token.
package money

import "math/bits"

// Pico is an amount in picodollars. Its range is about ±9.2 million dollars.
type Pico = int64

const (
	Dollar Pico = 1_000_000_000_000
	Cent   Pico = Dollar / 100
	// Max is the largest amount. Sums and products saturate at Max.
	Max Pico = 1<<63 - 1
)

// Add returns a + b, at most Max. It does not saturate at the lower end of the range.
func Add(a, b Pico) Pico {
	if b > 0 && a > Max-b {
		return Max
	}
	return a + b
}

// Cost returns the cost of count units at a unit price, at most Max. The price must not be negative.
func Cost(count uint64, price Pico) Pico {
	high, low := bits.Mul64(count, uint64(price))
	if high != 0 || low > uint64(Max) {
		return Max
	}
	return Pico(low)
}

// Scale returns amount × num / den, rounded up, at most Max. The amount must not be negative, and den must not be 0.
func Scale(amount Pico, num, den uint64) Pico {
	high, low := bits.Mul64(uint64(amount), num)
	low, carry := bits.Add64(low, den-1, 0)
	if high += carry; high >= den {
		return Max
	}
	quotient, _ := bits.Div64(high, low, den)
	return Pico(min(quotient, uint64(Max)))
}

// Parse converts a decimal number of units (Dollar or Cent), such as "0.15", to an amount. ok is false if the number
// has a sign or an exponent, is finer than a picodollar, or is out of range.
func Parse(text string, unit Pico) (amount Pico, ok bool) {
	if text == "" || text == "." {
		return 0, false
	}
	var whole Pico
	i := 0
	for ; i < len(text) && text[i] != '.'; i++ {
		if text[i] < '0' || text[i] > '9' || whole > Max/unit/10 {
			return 0, false
		}
		whole = whole*10 + Pico(text[i]-'0')
	}
	if whole >= Max/unit {
		return 0, false
	}
	amount = whole * unit
	if i == len(text) {
		return amount, true
	}
	for i++; i < len(text); i++ {
		if unit < 10 && text[i] != '0' || text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		unit /= 10
		amount += Pico(text[i]-'0') * unit
	}
	return amount, true
}

// Append appends an amount in units (Dollar or Cent) as an exact JSON number without an exponent or trailing zeros.
func Append(dst []byte, amount, unit Pico) []byte {
	if amount < 0 {
		dst = append(dst, '-')
		amount = -max(amount, -Max)
	}
	dst = appendUint(dst, amount/unit)
	rest := amount % unit
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for rest > 0 {
		unit /= 10
		dst = append(dst, byte('0'+rest/unit))
		rest %= unit
	}
	return dst
}

func appendUint(dst []byte, v Pico) []byte {
	if v >= 10 {
		dst = appendUint(dst, v/10)
	}
	return append(dst, byte('0'+v%10))
}
