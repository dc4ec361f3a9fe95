package chat

import "github.com/postern-ai/postern/core/jsontext"

// Kinds of characters. The first seven start or continue a word, a number or a run, so their cost depends on the
// previous character. All others have a fixed cost.
const (
	kindNewline = iota
	kindSpace
	kindDigit
	kindLower
	kindUpper
	kindPunct
	kindLatin // letters of Latin alphabets beyond ASCII
	kindElse
	kinds
)

// TokenUnits is the number of cost units per token.
const TokenUnits = 64

// asciiKinds is the kind of each ASCII character.
var asciiKinds = func() (k [128]uint8) {
	for c := range k {
		switch {
		case c == '\n' || c == '\r':
			k[c] = kindNewline
		case c <= ' ' || c == 127:
			k[c] = kindSpace
		case c >= '0' && c <= '9':
			k[c] = kindDigit
		case c >= 'a' && c <= 'z':
			k[c] = kindLower
		case c >= 'A' && c <= 'Z':
			k[c] = kindUpper
		default:
			k[c] = kindPunct
		}
	}
	return k
}()

// tokenCosts contains the cost of a character in units of 1/TokenUnits of a token. The first index is the previous
// character's kind, the second the character's own. The values are fitted to the texts in testdata/tokens.json by
// least squares of the relative error. A repeated character always has a cost, so that the estimate of a long text is
// never near 0.
var tokenCosts = [kinds][kinds]uint8{
	//            \n   sp   0-9  a-z  A-Z  .,-  é
	kindNewline: {4, 20, 112, 16, 16, 33, 78},
	kindSpace:   {0, 4, 112, 16, 16, 33, 78},
	kindDigit:   {0, 0, 18, 24, 24, 33, 78},
	kindLower:   {0, 0, 112, 15, 16, 33, 62},
	kindUpper:   {0, 0, 112, 15, 23, 33, 62},
	kindPunct:   {80, 0, 112, 16, 16, 26, 78},
	kindLatin:   {0, 0, 112, 15, 16, 33, 62},
	kindElse:    {0, 0, 112, 16, 16, 33, 78},
}

// EstimateTokens estimates the number of tokens in a text. It is used before a provider reports the usage, and for
// providers that never do. It looks at each character once. Latin words cost by length, digits and punctuation by
// runs, and other scripts by character.
//
// The following errors are relative to OpenAI's o200k tokenizer. On the 54 fitted texts, the error is 9% on average
// and 24% at worst. On 18 other texts, it is 13% and 24%. The texts are prose in 30 languages, code and data. The
// usual estimate of four bytes per token has errors of 30% and 134%. Other tokenizers differ by more. Anthropic's
// newer models count about a third more tokens. The result does not depend on the JSON spelling of the text. It is
// meaningless for base64 of images and files.
func EstimateTokens(text jsontext.Escaped) uint64 {
	return (EstimateUnits(text) + TokenUnits - 1) / TokenUnits
}

// EstimateUnits is like EstimateTokens, but in units of 1/TokenUnits of a token. It is for texts that arrive in
// pieces, because rounding up each piece would overestimate.
func EstimateUnits(text jsontext.Escaped) uint64 {
	var cost uint64
	prev := uint8(kindElse)
	for i := 0; i < len(text); {
		c := text[i]
		if c < 128 && c != '\\' {
			kind := asciiKinds[c]
			cost += uint64(tokenCosts[prev&7][kind&7])
			prev = kind
			i++
			continue
		}
		char, size := spelledChar(text[i:])
		kind, each := charCost(char)
		if kind < kindElse {
			each = tokenCosts[prev&7][kind&7]
		}
		cost += uint64(each)
		prev = kind
		i += size
	}
	return cost
}

// spelledChar decodes an escape or a non-ASCII character at the start of text, and returns its size in bytes. A \u
// escape is one UTF-16 unit, so a surrogate pair is decoded as two.
func spelledChar(text jsontext.Escaped) (char uint32, size int) {
	if text[0] == '\\' {
		return escapedChar(text)
	}
	switch c := uint32(text[0]); {
	case c < 0xE0 && len(text) >= 2:
		return c&0x1F<<6 | uint32(text[1])&0x3F, 2
	case c < 0xF0 && len(text) >= 3:
		return c&0x0F<<12 | uint32(text[1])&0x3F<<6 | uint32(text[2])&0x3F, 3
	case len(text) >= 4:
		return 0x10000, 4
	}
	return 0, len(text)
}

func escapedChar(text jsontext.Escaped) (char uint32, size int) {
	if len(text) < 2 {
		return '\\', len(text)
	}
	switch text[1] {
	case 'n', 'r':
		return '\n', 2
	case 't', 'b', 'f':
		return '\t', 2
	case 'u':
		if len(text) < 6 {
			return 0, len(text)
		}
		for i := 2; i < 6; i++ {
			char = char<<4 | hexDigit(text[i])
		}
		return char, 6
	}
	return uint32(text[1]), 2 // a quote, a slash or a backslash
}

func hexDigit(c byte) uint32 {
	if c >= 'A' {
		return uint32(c|0x20-'a'+10) & 0xF
	}
	return uint32(c-'0') & 0xF
}

// charCost returns the kind of a character. If the kind is kindElse, charCost also returns the cost, which depends on
// the script.
func charCost(c uint32) (kind, cost uint8) {
	switch {
	case c >= 0x3100 && c < 0xAC00:
		return kindElse, 56 // Chinese characters
	case c < 0x80:
		return asciiKinds[c], 0
	case c < 0xC0:
		return kindElse, 39 // symbols
	case c < 0x250, c >= 0x300 && c < 0x370, c >= 0x1E00 && c < 0x1F00:
		return kindLatin, 0 // including accents and Vietnamese
	case c < 0x400:
		return kindElse, 28 // phonetic letters, Greek
	case c < 0x530:
		return kindElse, 24 // Cyrillic
	case c < 0x600:
		return kindElse, 28 // Armenian, Hebrew
	case c < 0xE00:
		return kindElse, 24 // Arabic, Indic scripts
	case c < 0x1000:
		return kindElse, 27 // Thai, Lao, Tibetan
	case c < 0x2000:
		return kindElse, 34 // Georgian, Ethiopic, Khmer, …
	case c < 0x3040:
		return kindElse, 39 // symbols, Chinese and Japanese punctuation
	case c < 0x3100:
		return kindElse, 43 // Kana
	case c >= 0xDC00 && c < 0xE000:
		return kindElse, 0 // the second half of a surrogate pair
	case c >= 0xE000 && c < 0xFF00:
		return kindElse, 56 // Chinese characters
	case c < 0xD800:
		return kindElse, 53 // Hangul
	case c < 0xDC00, c >= 0x10000:
		return kindElse, 144 // emoji and other rare characters
	}
	return kindElse, 39 // wide punctuation
}
