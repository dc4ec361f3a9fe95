package ledger_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/doc"
)

// vector is a case of testdata/webhooks.json, which the tests of the client libraries verify.
type vector struct {
	Name    string
	Secrets []string
	NowMs   uint64
	Headers map[string]string
	Body    string
}

func readVector(t *testing.T, name string) vector {
	t.Helper()
	text, err := os.ReadFile("../../testdata/webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no case %s", name)
	return vector{}
}

// TestWebhookVector compares the delivery that client libraries verify with the delivery that a ledger sends, byte
// for byte.
func TestWebhookVector(t *testing.T) {
	want := readVector(t, "webhooks/budget")
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(want.Secrets[0], "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	b := newHarness(t)
	b.now = want.NowMs
	b.version = 2 // the next Put has version 3, which is part of the ID
	b.put(10, month(), doc.Alerts{URL: "https://hooks.example/a", Secret: secret})
	b.spend(850)
	posts := b.takePosts()
	if len(posts) != 1 {
		t.Fatalf("%d posts, want 1", len(posts))
	}
	if got := string(posts[0].Body); got != want.Body {
		t.Errorf("body\n%s, want\n%s", got, want.Body)
	}
	got := map[string]string{}
	for _, h := range posts[0].Headers {
		got[h.Name] = h.Value
	}
	for name, value := range want.Headers {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	if len(want.Headers) != 3 {
		t.Errorf("the case has %d headers, want 3", len(want.Headers))
	}
}
