package postern

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// secrets are strings that must never be printed.
var secrets = []string{strings.TrimPrefix(tableKey, "sk_test_"), "proxySecret", "aSecretPrompt"}

// checkPrinted prints a value with all verbs. It does so once more with the value in an unexported field, because fmt
// does not call the methods of such a value.
func checkPrinted[T any](t *testing.T, name string, value T) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%+s", "%d", "%x", "%X", "% x", "%#x", "%q", "%#q", "%t", "%c", "%U", "%b", "%o", "%e", "%p", "%!", "%w"} {
		for _, printed := range []any{value, &value, []T{value}, struct{ field T }{value}, struct{ field *T }{&value}, &struct{ field any }{value}} {
			text := fmt.Sprintf(verb, printed)
			for _, secret := range secrets {
				inHex, inNumbers := fmt.Sprintf("%x", secret), strings.Trim(fmt.Sprint([]byte(secret)), "[]")
				if strings.Contains(text, secret) || strings.Contains(strings.ToLower(text), inHex) || strings.Contains(text, inNumbers) {
					t.Errorf("%s of %s, %T: %s", verb, name, printed, text)
				}
			}
		}
	}
}

func TestNothingPrintsTheKey(t *testing.T) {
	ctx := context.Background()
	streams := func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, okStream) }
	client := newFake(t, streams, WithHeader("x-proxy", "proxySecret"))
	prompt := CompletionParams{Messages: []Message{User("aSecretPrompt")}}
	stream := client.AI.Chat(ctx, prompt, WithHeader("x-other", "proxySecret"))
	inJSON := ChatJSON[priced](ctx, client, prompt)
	defer stream.Close()
	defer inJSON.Close()
	checkPrinted(t, "*Client", client)
	checkPrinted(t, "Client", *client)
	checkPrinted(t, "AI", client.AI)
	checkPrinted(t, "Usage", client.Usage)
	checkPrinted(t, "Health", client.Health)
	checkPrinted(t, "Governor", client.Governor)
	checkPrinted(t, "Violations", client.Violations)
	checkPrinted(t, "Models", client.Models)
	checkPrinted(t, "Compliance", client.Compliance)
	checkPrinted(t, "*ChatStream", stream)
	checkPrinted(t, "ChatStream", *stream)
	checkPrinted(t, "*JSONStream", inJSON)
	checkPrinted(t, "JSONStream", *inJSON)
	checkPrinted(t, "WithAPIKey", WithAPIKey(tableKey))
	checkPrinted(t, "WithHeader", WithHeader("x-proxy", "proxySecret"))
	text, err := json.Marshal(client)
	if err != nil || strings.Contains(string(text), secrets[0]) {
		t.Errorf("%s %v", text, err)
	}
}

func TestClientIsDescribed(t *testing.T) {
	client, err := New(WithAPIKey(tableKey), WithBaseURL("https://postern.example.com/ai"))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	newLogger(&log).Info("x", "client", client)
	const want = "postern.Client(https://postern.example.com/ai)"
	for _, text := range []string{fmt.Sprint(client), fmt.Sprintf("%+v", *client), fmt.Sprintf("%#v", client), fmt.Sprintf("%d", client)} {
		if text != want {
			t.Error(text)
		}
	}
	var none *Client
	if text := fmt.Sprintf("%v", none); strings.Contains(log.String(), tableKey) || text != "<nil>" {
		t.Error(text, log.String())
	}
}

func TestWebhookSecretsAreNotPrinted(t *testing.T) {
	secret := SecretOf('a')
	v := WebhookVerifier{Secrets: []string{secret}}
	inJSON, err := json.Marshal(v)
	if err != nil || strings.Contains(string(inJSON), secret[6:]) {
		t.Error(string(inJSON), err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q", "%t"} {
		for _, printed := range []any{v, &v} {
			if text := fmt.Sprintf(verb, printed); text != "postern.WebhookVerifier(1 secrets)" {
				t.Errorf("%s: %s", verb, text)
			}
		}
		if text := fmt.Sprintf(verb, []WebhookVerifier{v}); text != "[postern.WebhookVerifier(1 secrets)]" && verb != "%#v" {
			t.Errorf("%s: %s", verb, text)
		}
	}
}
