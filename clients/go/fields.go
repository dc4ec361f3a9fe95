package postern

import (
	"strconv"
	"strings"
	"time"
)

// Functions that read header fields. They treat a malformed field as missing, so bad metadata never makes a good
// response fail.

// isDecimal reports whether text consists of digits with an optional fraction. A sign or an exponent is not allowed.
func isDecimal(text string) bool {
	whole, fraction, dotted := strings.Cut(text, ".")
	return isDigits(whole) && (!dotted || isDigits(fraction))
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func decimal(text string) *float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !isDecimal(text) {
		return nil
	}
	return &n
}

func integer(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil || !isDigits(text) {
		return nil
	}
	return &n
}

// seconds reads a number of seconds.
func seconds(text string) *time.Duration {
	n := decimal(text)
	if n == nil {
		return nil
	}
	return Ptr(time.Duration(*n * float64(time.Second)))
}

// list splits text, trims the items and drops empty items.
func list(text, separator string) []string {
	var items []string
	for _, item := range strings.Split(text, separator) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// cutLast cuts text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// valueOf returns the value of p, or zero for nil.
func valueOf[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
