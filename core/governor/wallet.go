package governor

import "github.com/postern-ai/postern/core/governor/checksum"

// wallet looks for addresses and private keys of cryptocurrencies. They begin at the start of the word [start, end).
func (s *Scanner) wallet(v *view, start, end int) (next int, ok bool) {
	if v.has(start, "0x") {
		return s.ethereum(v, start)
	}
	length := end - start
	for length > 0 && class[v.text[start+length-1]]&isJoint != 0 {
		length-- // the end of a sentence
	}
	if length < 26 || length > 112 {
		return 0, false
	}
	text := v.text[start : start+length]
	if next, ok = s.segwit(v, text, start); ok {
		return next, true
	}
	if !oneOf(text[0], "13LMDA9XTmn25Kcxtzy") || length > 35 && length != 51 && length != 52 && length != 111 {
		return 0, false
	}
	return s.base58(v, text, start)
}

// base58 looks for an address or a private key in Base58Check.
func (s *Scanner) base58(v *view, text []byte, start int) (next int, ok bool) {
	version, size, ok := checksum.Base58Check(text)
	switch {
	case !ok:
		return 0, false
	case size == 21:
		return s.emit(v, ruleBitcoin, start, start+len(text))
	case (version == 0x80 || version == 0xef) && (size == 33 || size == 34), size == 78 && text[3] == 'v':
		return s.emit(v, ruleWIF, start, start+len(text))
	}
	return 0, false
}

// segwit looks for a Bech32 address of Bitcoin or Litecoin. Source: BIP 173, BIP 350.
func (s *Scanner) segwit(v *view, text []byte, start int) (next int, ok bool) {
	prefix := 2
	switch string(text[:3]) {
	case "bc1", "tb1", "BC1", "TB1":
	default:
		if string(text[:4]) != "ltc1" {
			return 0, false
		}
		prefix = 3
	}
	kinds := uint16(0)
	for _, b := range text {
		kinds |= class[b]
	}
	if kinds&isLower != 0 && kinds&isUpper != 0 || len(text) > 90 {
		return 0, false
	}
	sum := checksum.Bech32(text, prefix)
	switch version, program := text[prefix+1]|0x20, len(text)-prefix-len("1q")-6; {
	case version == 'q':
		ok = sum == checksum.Bech32Constant && (program == 32 || program == 52)
	default: // versions 1 to 16; other characters stand for higher versions
		ok = sum == checksum.Bech32mConstant && oneOf(text[prefix+1]|0x20, "pzry9x8gf2tvdw0s") && program >= 4
	}
	if !ok {
		return 0, false
	}
	return s.emit(v, ruleBitcoin, start, start+len(text))
}

// ethereum looks for an address of 40 hexadecimal digits. If the digits are in both cases, the case must be the
// checksum of EIP-55. If they are in one case, they must not follow a word in aboutArticle, such as "hash".
func (s *Scanner) ethereum(v *view, start int) (next int, ok bool) {
	end := start + 42
	if v.run(start+2, 41, isHex) != end || !v.closed(end) {
		return 0, false
	}
	kinds := uint16(0)
	for _, b := range v.text[start+2 : end] {
		kinds |= class[b]
	}
	if kinds&isLower != 0 && kinds&isUpper != 0 {
		ok = checksum.EIP55(v.text[start+2 : end])
	} else {
		ok = spread(v.text[start+2:end]) >= minSpread && (!s.isArticle(v, start) || s.about(v, aboutWallet, start, end))
	}
	if !ok {
		return 0, false
	}
	return s.emit(v, ruleEthereum, start, end)
}
