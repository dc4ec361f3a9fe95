package checksum

import (
	"encoding/hex"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

func TestPublishedExamples(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"Luhn", Luhn([]byte("79927398713")) && !Luhn([]byte("79927398710"))},
		{"Mod11x10", Mod11x10([]byte("86095742719")) && !Mod11x10([]byte("86095742718"))},
		{"Mod11x2", Mod11x2([]byte("11010519491231002X")) && !Mod11x2([]byte("110105194912310021"))},
		{"Mod97", Mod97([]byte("GB82WEST12345698765432")) && !Mod97([]byte("GB82WEST12345698765431"))},
		{"Mod97 in lower case", Mod97([]byte("gb82west12345698765432"))},
		{"Verhoeff", Verhoeff([]byte("2363")) && !Verhoeff([]byte("2364"))},
		{"Bech32", Bech32([]byte("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"), 2) == Bech32Constant},
		{"Bech32 in upper case", Bech32([]byte("A12UEL5L"), 1) == Bech32Constant},
		{"Bech32m", Bech32([]byte("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"), 2) == Bech32mConstant},
		{"Bech32 with a wrong character", Bech32([]byte("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3tb"), 2) == 0},
		{"EIP55", EIP55([]byte("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"))},
		{"EIP55 with one wrong case", !EIP55([]byte("5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"))},
	} {
		if !c.ok {
			t.Errorf("%s: wrong result", c.name)
		}
	}
}

func TestBase58Check(t *testing.T) {
	for text, want := range map[string]struct {
		version byte
		length  int
		ok      bool
	}{
		"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa": {0, 21, true},
		"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb": {0, 21, false},
		"3P14159f73E4gFr7JterCCQh9QjiTjiZrG": {5, 21, true},
		"0":                                  {},
		"":                                   {},
	} {
		if version, length, ok := Base58Check([]byte(text)); ok != want.ok || ok && (version != want.version || length != want.length) {
			t.Errorf("Base58Check(%q) = %d, %d, %t", text, version, length, ok)
		}
	}
}

func TestKeccak(t *testing.T) {
	const want = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
	if got := keccak256(nil); hex.EncodeToString(got[:]) != want {
		t.Errorf("keccak256 of nothing = %x", got)
	}
}

func TestCRC32AgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		if got, want := CRC32(data), crc32.ChecksumIEEE(data); got != want {
			t.Fatalf("CRC32 = %08x, want %08x", got, want)
		}
	})
}

func TestBase62(t *testing.T) {
	for text, want := range map[string]uint32{"0": 0, "00000A": 10, "00000a": 36, "4gfFC3": 1<<32 - 1} {
		if got, ok := Base62([]byte(text)); !ok || got != want {
			t.Errorf("Base62(%q) = %d, %t", text, got, ok)
		}
	}
	if _, ok := Base62([]byte("4gfFC4")); ok {
		t.Error("Base62 accepts 2^32")
	}
}
