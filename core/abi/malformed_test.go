package abi

import (
	"bytes"
	"encoding/hex"
	"math"
	"testing"
)

func TestTruncatedMessagesAreRejected(t *testing.T) {
	for _, v := range vectors() {
		data, _ := hex.DecodeString(v.Hex)
		decode := decoders[v.Type]
		for n := range data {
			// A message with long padding is cut only near its ends, and at some points in between.
			if n > 600 && n < len(data)-600 && n%97 != 0 {
				continue
			}
			if _, err := decode(data[:n:n]); err == nil {
				t.Errorf("%s %s: the first %d of %d bytes were accepted", v.Type, v.Name, n, len(data))
			}
		}
		if _, err := decode(append(bytes.Clone(data), 0)); err == nil {
			t.Errorf("%s %s: a trailing byte was accepted", v.Type, v.Name)
		}
	}
}

func TestOverlongFirstNumberIsRejected(t *testing.T) {
	for _, v := range vectors() {
		data, _ := hex.DecodeString(v.Hex)
		if data[0] >= 0x80 {
			continue
		}
		overlong := append([]byte{data[0] | 0x80, 0}, data[1:]...)
		if _, err := decoders[v.Type](overlong); err == nil {
			t.Errorf("%s %s: an overlong number was accepted", v.Type, v.Name)
		}
	}
}

func TestUint(t *testing.T) {
	for _, n := range append([]uint64{math.MaxUint64, math.MaxInt64, 1 << 63, 1 << 56}, edges...) {
		var w Writer
		w.Uint(n)
		r := Reader{Buf: w.Buf}
		if got := r.Uint(); got != n || r.End() != nil {
			t.Errorf("%d was decoded as %d, %v", n, got, r.Err())
		}
		for i := range w.Buf {
			if r := (Reader{Buf: w.Buf[:i]}); r.Uint() != 0 || r.Err() == nil {
				t.Errorf("%d: %d of %d bytes were accepted", n, i, len(w.Buf))
			}
		}
	}
}

func TestMalformedUint(t *testing.T) {
	for _, data := range []string{
		"", "80", "8000", "ff00", "808000", "80808080808080808000", "ffffffffffffffffff02", "ffffffffffffffffff7f",
		"80808080808080808080", "8080808080808080808001", "ffffffffffffffffffff01",
	} {
		wire, _ := hex.DecodeString(data)
		r := Reader{Buf: wire}
		if got := r.Uint(); got != 0 || r.Err() == nil {
			t.Errorf("%s was read as %d", data, got)
		}
		if r.Uint() != 0 || r.Bytes() != nil || r.Bool() || r.Count() != 0 || r.End() == nil {
			t.Errorf("%s: a failed reader returned a value or no error", data)
		}
	}
}

func TestInt(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, math.MaxInt64, math.MinInt64, 1_000_000_000_000} {
		var w Writer
		w.Int(n)
		r := Reader{Buf: w.Buf}
		if got := r.Int(); got != n || r.End() != nil {
			t.Errorf("%d was decoded as %d, %v", n, got, r.Err())
		}
	}
}

// TestHostileLengths: a length beyond the end of the input is rejected before any allocation.
func TestHostileLengths(t *testing.T) {
	var w Writer
	w.Uint(math.MaxUint64)
	for name, decode := range decoders {
		for prefix := range 12 {
			data := append(bytes.Repeat([]byte{0}, prefix), w.Buf...)
			if _, err := decode(data); err == nil {
				t.Errorf("%s: a length of 2^64-1 after %d bytes was accepted", name, prefix)
			}
		}
	}
}

// TestKindsDoNotWrap: a kind or class above 255, such as 257, is rejected and not read as 1.
func TestKindsDoNotWrap(t *testing.T) {
	in := StepInput{Event: Event{Kind: EventRequest}}
	object := ObjectInput{Class: ClassKeyMeter}
	out := StepOutput{Actions: []Action{{Kind: ActionCancel, ID: 5}}}
	delivery := Delivery{Class: ClassLedger}
	for name, c := range map[string]struct {
		v     any
		small byte // the byte with the kind
		at    int
	}{
		"StepInput": {in, 1, 6}, "ObjectInput": {object, 1, 1}, "StepOutput": {out, 10, 4}, "Delivery": {delivery, 2, 0},
	} {
		data := encode(c.v)
		if data[c.at] != c.small {
			t.Fatalf("%s: byte %d of %x is not the kind", name, c.at, data)
		}
		wrapped := append(append(bytes.Clone(data[:c.at]), c.small|0x80, 2), data[c.at+1:]...)
		if _, err := decoders[name](wrapped); err == nil {
			t.Errorf("%s: kind or class 256+%d was read as %d", name, c.small, c.small)
		}
	}
}

func TestFixed(t *testing.T) {
	last := ""
	for _, n := range edges {
		if n >= 1<<48 {
			continue
		}
		text := Fixed(n)
		if len(text) != 12 || Unfixed(text) != n || text < last {
			t.Errorf("Fixed(%d) = %s after %s, read as %d", n, text, last, Unfixed(text))
		}
		last = text
	}
}

// fuzzDecode checks that no input makes a decoder panic. If a decoder accepts an input, the encoder must produce the
// same bytes from the result.
func fuzzDecode(f *testing.F, name string) {
	for _, v := range vectors() {
		if data, _ := hex.DecodeString(v.Hex); v.Type == name && len(data) < 1000 {
			f.Add(data)
		}
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decoders[name](data)
		if err != nil {
			return
		}
		if again := encode(v); !bytes.Equal(again, data) {
			t.Errorf("%x was accepted, but its encoding is %x", data, again)
		}
	})
}

func FuzzDecodeStepInput(f *testing.F)    { fuzzDecode(f, "StepInput") }
func FuzzDecodeStepOutput(f *testing.F)   { fuzzDecode(f, "StepOutput") }
func FuzzDecodeObjectInput(f *testing.F)  { fuzzDecode(f, "ObjectInput") }
func FuzzDecodeObjectOutput(f *testing.F) { fuzzDecode(f, "ObjectOutput") }
func FuzzDecodeConfig(f *testing.F)       { fuzzDecode(f, "Config") }
func FuzzDecodeConfigured(f *testing.F)   { fuzzDecode(f, "Configured") }
func FuzzDecodeDelivery(f *testing.F)     { fuzzDecode(f, "Delivery") }
func FuzzDecodePosted(f *testing.F)       { fuzzDecode(f, "Posted") }

// TestPostedOp: a reducer's other commands are not decoded as Posted.
func TestPostedOp(t *testing.T) {
	posted := Posted{ID: "1", Status: 200}
	command := posted.Encode()
	if command[0] != OpPosted {
		t.Fatalf("the op of %x is not %x", command, OpPosted)
	}
	for _, op := range []byte{0, 1, 6, OpPosted - 1} {
		if got, err := DecodePosted(append([]byte{op}, command[1:]...)); err == nil {
			t.Errorf("op %d was decoded as %+v", op, got)
		}
	}
}
