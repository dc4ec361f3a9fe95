package governor

// spread returns the effective number of different bytes in text: n² / Σ count², which is 2 to the power of the
// collision entropy. Random text of n bytes from an alphabet of k characters has a spread of about n / (1 + (n-1)/k).
// spread uses only integers, so every host computes the same value.
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

// isSequence reports whether nearly all of text repeats one byte, or counts up or down, like the alphabet.
func isSequence(text []byte) bool { return steps(text)*8 > len(text)*7 }

// runs reports whether text repeats a byte, or counts up or down, over more than half of its length: "xxxxxxxx",
// "12345678". Placeholders often look like that.
func runs(text []byte) bool { return steps(text)*2 > len(text) }

// steps counts the bytes that equal the one before or differ from it by one.
func steps(text []byte) (same int) {
	for i := 1; i < len(text); i++ {
		if d := int(text[i]) - int(text[i-1]); d >= -1 && d <= 1 {
			same++
		}
	}
	return same
}
