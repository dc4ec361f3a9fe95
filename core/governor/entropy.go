package governor

// spread returns the effective number of different bytes in text. It is n² / Σ count², or 2 to the power of the
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

// isSequence reports whether nearly all bytes of text are equal, or count up or down like the alphabet.
func isSequence(text []byte) bool { return steps(text)*8 > len(text)*7 }

// runs reports whether more than half of the bytes of text are equal, or count up or down. Placeholders often look
// like that: "xxxxxxxx", "12345678".
func runs(text []byte) bool { return steps(text)*2 > len(text) }

// steps counts the bytes that equal the byte before or differ from it by one.
func steps(text []byte) (same int) {
	for i := 1; i < len(text); i++ {
		if d := int(text[i]) - int(text[i-1]); d >= -1 && d <= 1 {
			same++
		}
	}
	return same
}
