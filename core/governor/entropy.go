package governor

// spread is the effective number of different bytes in text: n² / Σ count², that is 2 to the power of the collision
// entropy. Random text of n bytes over k characters has about n / (1 + (n-1)/k). It needs integers only, so that every
// host computes the same.
func spread(text []byte) int {
	var count [256]uint16
	for _, b := range text {
		count[b]++
	}
	sum := 0
	for _, b := range text {
		sum += int(count[b]) // each byte adds its count: Σ count²
	}
	if sum == 0 {
		return 0
	}
	return len(text) * len(text) / sum
}

// runs reports whether text repeats a byte, or counts up or down, over more than half of its length: "xxxxxxxx",
// "12345678". Placeholders do that.
func runs(text []byte) bool {
	same := 0
	for i := 1; i < len(text); i++ {
		if d := int(text[i]) - int(text[i-1]); d >= -1 && d <= 1 {
			same++
		}
	}
	return same*2 > len(text)
}
