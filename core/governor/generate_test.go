package governor

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/keys"
)

const (
	digitSet = "0123456789"
	smallSet = "abcdefghijklmnopqrstuvwxyz"
	upperSet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	wordSet  = digitSet + smallSet + upperSet
)

// alphabets maps each class in token formats to its characters. testdata/governor/tokens.txt describes the classes.
var alphabets = map[byte]string{
	'd': digitSet, 'x': digitSet + "abcdef", 'X': digitSet + "abcdefABCDEF", 'w': wordSet, 'u': wordSet + "_-", 'b': wordSet + "+/",
	'l': digitSet + smallSet, 'A': digitSet + upperSet, 'B': upperSet + "234567", 'a': smallSet + upperSet, 'e': wordSet + "+/",
	'v': wordSet + "_-", 't': wordSet + "_-~", 'c': wordSet + "_-", 'p': wordSet, 'h': wordSet + "./", '=': "=", 'q': "MNO", 'z': "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}

var (
	runOfClass = regexp.MustCompile(`\{(.)(\d+)(?:-(\d+))?\}`)
	reference  = regexp.MustCompile(`\$(\d+)(?::(\w+))?`)
	macro      = regexp.MustCompile(`\$(pem|der|jwt|wif|secret|hex)(?:\(([^)]*)\))?`)
)

// expand replaces $N and $N:damage with tokens, and expands the other macros.
func expand(line string, r *ruleData, random *rand.Rand) string {
	line = macro.ReplaceAllStringFunc(line, func(found string) string {
		m := macro.FindStringSubmatch(found)
		return secretExample(m[1], m[2], random)
	})
	return reference.ReplaceAllStringFunc(line, func(found string) string {
		m := reference.FindStringSubmatch(found)
		n, _ := strconv.Atoi(m[1])
		return generate(r.name, r.formats[n-1], m[2], random)
	})
}

// secretExample returns a random secret of a kind without a token format.
func secretExample(kind, parameter string, random *rand.Rand) string {
	switch kind {
	case "pem":
		body := strings.Repeat(`\n`+letters(random, 'b', 64), 5)
		return "-----BEGIN " + parameter + "-----" + body + `\n-----END ` + parameter + "-----"
	case "der":
		return derExample(parameter, random)
	case "jwt":
		encode := base64.RawURLEncoding.EncodeToString
		header := encode([]byte(`{"alg":"RS256","typ":"JWT","kid":"` + letters(random, 'w', 8) + `"}`))
		return header + "." + encode([]byte(`{"sub":"`+letters(random, 'd', 10)+`"}`)) + "." + letters(random, 'u', 43)
	case "wif":
		payload := append([]byte{0x80}, letters(random, 'w', 32)...)
		if random.IntN(2) == 0 {
			payload = append(payload, 1)
		}
		return base58Check(payload)
	case "hex":
		n, _ := strconv.Atoi(parameter)
		return letters(random, 'x', n)
	}
	return letters(random, 'w', 32)
}

// derExample returns the base64 of a key in DER. kind is a kind of private key, perhaps with "lines", or one of the
// near misses "public", "cut" and "long".
func derExample(kind string, random *rand.Rand) string {
	heads := map[string]string{
		"rsa": "\x30\x82\x04\xa3\x02\x01\x00\x02\x82\x01\x01\x00", "sec1": "\x30\x77\x02\x01\x01\x04\x20",
		"pkcs8": "\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07", "ed25519": "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
		"public": "\x30\x59\x30\x13\x06\x07",
	}
	lengths := map[string]int{"rsa": 1191, "sec1": 121, "pkcs8": 138, "ed25519": 48, "public": 91}
	name := kind
	if lengths[kind] == 0 {
		name = "rsa"
	}
	text := base64.StdEncoding.EncodeToString([]byte(heads[name] + letters(random, 'b', lengths[name]-len(heads[name]))))
	switch kind {
	case "lines":
		return regexp.MustCompile(".{64}").ReplaceAllString(text, `$0\n`)
	case "cut":
		return text[:len(text)-8]
	case "long":
		return text + "Ab12"
	}
	return text
}

// base58Check encodes bytes with their double SHA-256 as the checksum.
func base58Check(payload []byte) string {
	sum := sha256.Sum256(payload)
	sum = sha256.Sum256(sum[:])
	number := new(big.Int).SetBytes(append(payload, sum[:4]...))
	var out []byte
	for digit := new(big.Int); number.Sign() > 0; {
		number.DivMod(number, big.NewInt(58), digit)
		out = append(out, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit.Int64()])
	}
	slices.Reverse(out)
	return string(out)
}

// generate makes a token of a format. If damage is not empty, the token is damaged in the way that a near miss names.
func generate(rule, format, damage string, random *rand.Rand) string {
	runs := runOfClass.FindAllStringSubmatch(format, -1)
	last := 0
	for i, m := range runs {
		if m[2] != "0" && m[1] != "=" {
			last = i
		}
	}
	number := -1
	token := runOfClass.ReplaceAllStringFunc(format, func(string) string {
		number++
		m := runs[number]
		length := runLength(m, damage, number == last, random)
		if damage == "flat" {
			return strings.Repeat(alphabets[m[1][0]][:1], length)
		}
		text := letters(random, m[1][0], length)
		if number == 0 && format[0] == '{' { // a joint before a word is not part of the word
			begin := min(2, len(text)) // $N:tail drops the first
			text = strings.NewReplacer("_", "a", "-", "a", "~", "a").Replace(text[:begin]) + text[begin:]
		}
		return text
	})
	return damaged(rule, format, token, damage, random)
}

// runLength returns a random length for a run. The format permits the length, unless the damage asks for a wrong one.
func runLength(m []string, damage string, last bool, random *rand.Rand) int {
	least, _ := strconv.Atoi(m[2])
	most := least
	if m[3] != "" {
		most, _ = strconv.Atoi(m[3])
	}
	switch {
	case damage == "short" && last:
		return least - 1
	case damage == "long" && last:
		return most + 1
	case damage != "" && damage != "tail" && least == 0:
		return 0
	}
	return least + random.IntN(most-least+1)
}

// damaged gives a token its checksum. It then applies any damage that runLength has not applied.
func damaged(rule, format, token, damage string, random *rand.Rand) string {
	prefix, _, _ := strings.Cut(format, "{")
	switch damage {
	case "", "sum", "value", "tail":
		token = complete(rule, token, prefix, random)
	case "glued":
		return "x" + complete(rule, token, prefix, random)
	case "broken":
		token = complete(rule, token, prefix, random)
		return token[:len(prefix)+3] + "*" + token[len(prefix)+3:]
	}
	if damage == "sum" {
		token = token[:len(token)-1] + string("0123456789"[(token[len(token)-1]+1)%10])
	}
	if damage == "tail" {
		token = token[1:]
	}
	if damage == "value" {
		token = token[len(prefix):]
	}
	return token
}

// letters returns random text of a class. Text of 16 characters or more has at least one digit and one letter of each
// case, if the class has them.
func letters(random *rand.Rand, class byte, length int) string {
	set := alphabets[class]
	for {
		out := make([]byte, length)
		for i := range out {
			out[i] = set[random.IntN(len(set))]
		}
		text := string(out)
		if length < 16 || strings.ContainsAny(text, digitSet) == strings.ContainsAny(set, digitSet) &&
			strings.ContainsAny(text, smallSet) == strings.ContainsAny(set, smallSet) && strings.ContainsAny(text, upperSet) == strings.ContainsAny(set, upperSet) {
			return text
		}
	}
}

// complete gives a token the checksum or structure of its format.
func complete(rule, token, prefix string, random *rand.Rand) string {
	switch {
	case rule == "secret.github-token" && !strings.Contains(token, "_eyJ"), rule == "secret.npm-token":
		body := token[:len(token)-6]
		return body + base62(crc32.ChecksumIEEE([]byte(body[4:])))
	case rule == "secret.openai-key" && len(token) > 51:
		return token[:30] + "T3BlbkFJ" + token[38:]
	case rule == "secret.postern-key":
		return posternExample(prefix, random)
	case rule == "secret.age-key":
		return ageExample(token)
	case rule == "secret.discord-token":
		id := base64.RawStdEncoding.EncodeToString(fmt.Appendf(nil, "%018d", 100000000000000000+random.Uint64N(800000000000000000)))
		_, rest, _ := strings.Cut(token, ".")
		return id + "." + rest
	case rule == "secret.azure-sas":
		return token[:len("sig=")] + letters(random, 'w', 43) + "%3D"
	}
	return token
}

func posternExample(prefix string, random *rand.Rand) string {
	var bits [keys.RandomBytes]byte
	for i := range bits {
		bits[i] = byte(random.Uint32())
	}
	kind, env := keys.Gateway, keys.Production
	if prefix[0] == 'p' {
		kind = keys.Project
	}
	if strings.Contains(prefix, "test") {
		env = keys.Development
	}
	return keys.New(kind, env, bits)
}

func base62(v uint32) string {
	const digits = digitSet + upperSet + smallSet
	var out [6]byte
	for i := range out {
		out[5-i] = digits[v%62]
		v /= 62
	}
	return string(out[:])
}

// bech32Sum is the checksum function in BIP 173.
func bech32Sum(values []byte) uint32 {
	sum := uint32(1)
	for _, v := range values {
		top := sum >> 25
		sum = (sum&0x1ffffff)<<5 ^ uint32(v)
		for i, g := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum
}

// ageExample replaces the last six characters of a token with the Bech32 checksum of the characters before them (BIP
// 173).
func ageExample(token string) string {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	token = strings.ToLower(token)
	hrp, data := "age-secret-key-", token[len("age-secret-key-1"):len(token)-6]
	var values []byte
	for _, c := range hrp {
		values = append(values, byte(c)>>5)
	}
	values = append(values, 0)
	for _, c := range hrp {
		values = append(values, byte(c)&31)
	}
	for _, c := range data {
		values = append(values, byte(strings.IndexRune(alphabet, c)))
	}
	sum := bech32Sum(append(values, 0, 0, 0, 0, 0, 0)) ^ 1
	out := []byte(hrp + "1" + data)
	for i := range 6 {
		out = append(out, alphabet[sum>>(5*(5-i))&31])
	}
	return strings.ToUpper(string(out))
}
