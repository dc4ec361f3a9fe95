package host

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// These values are also in worker/gateway/test/exchange.test.mjs. The ciphertext was made with OpenSSL.
const (
	sealedKey   = "/v/pkoZlcxxtao+UZzCDCP7/6ZKGZXMcbWqPlGcwgwg="
	sealedAAD   = "project/proj_é/openai"
	sealedPlain = "sk-provider-key"
	sealedHex   = "cafebabefacedbaddecaf888" + "f877dea513bd0d8b35434c4bee141d" + "0f3c9e5d8ebc8b82004188d6d7c77c02"
)

func TestUnseal(t *testing.T) {
	sealed, _ := hex.DecodeString(sealedHex)
	short := "AAECAwQFBgcICQoLDA0ODw=="
	other := "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	flipped := bytes.Clone(sealed)
	flipped[14] ^= 1
	for name, c := range map[string]struct {
		key, aad string
		sealed   []byte
		want     string
	}{
		"valid":                      {sealedKey, sealedAAD, sealed, "0 " + sealedPlain},
		"wrong key":                  {other, sealedAAD, sealed, "2 "},
		"short key":                  {short, sealedAAD, sealed, "2 "},
		"malformed base64":           {"!" + sealedKey[1:], sealedAAD, sealed, "2 "},
		"no key":                     {"", sealedAAD, sealed, "2 "},
		"wrong AAD":                  {sealedKey, sealedAAD + "x", sealed, "2 "},
		"no AAD":                     {sealedKey, "", sealed, "2 "},
		"flipped bit":                {sealedKey, sealedAAD, flipped, "2 "},
		"one byte short":             {sealedKey, sealedAAD, sealed[:len(sealed)-1], "2 "},
		"shorter than nonce and tag": {sealedKey, sealedAAD, sealed[:27], "2 "},
		"nonce only":                 {sealedKey, sealedAAD, sealed[:12], "2 "},
		"one byte too long":          {sealedKey, sealedAAD, append(bytes.Clone(sealed), 0), "2 "},
		"empty":                      {sealedKey, sealedAAD, nil, "2 "},
	} {
		event := unsealed(&abi.Action{ID: 4, Key: c.key, Name: c.aad}, c.sealed)
		if got := fmt.Sprintf("%d %s", event.Code, event.Data); got != c.want || event.Kind != abi.EventSupplied || event.ID != 4 {
			t.Errorf("%s: event %+v, want %s", name, event, c.want)
		}
	}
}

// TestUnsealAction: an exchange unseals a buffer without changing it. An unwritten buffer is empty. Nothing is logged.
func TestUnsealAction(t *testing.T) {
	sealed, _ := hex.DecodeString(sealedHex)
	for buffer, want := range map[uint64]string{7: "0 " + sealedPlain + " buffer " + string(sealed), 6: "2  buffer ", 1 << 40: "2  buffer "} {
		engine := &stub{step: func(in *abi.StepInput) abi.StepOutput {
			if in.Event.Kind == abi.EventRequest {
				return abi.StepOutput{Actions: []abi.Action{
					{Kind: abi.ActionKeep, Buffer: 7, Data: sealed},
					{Kind: abi.ActionUnseal, ID: 4, Buffer: buffer, Key: sealedKey, Name: sealedAAD},
				}}
			}
			result := fmt.Appendf(nil, "%d %s buffer ", in.Event.Code, in.Event.Data)
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionRespond, Code: 200, Body: []abi.Part{{Data: result}, {Buffer: buffer}}}}}
		}}
		var log strings.Builder
		clock := fixedClock(1)
		h, err := New(Options{Engine: engine, Clock: &clock, Log: &log})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		h.Wait()
		if got := w.Body.String(); got != want || log.String() != "" {
			t.Errorf("buffer %d: %q, want %q; logged %q", buffer, got, want, log.String())
		}
	}
}
