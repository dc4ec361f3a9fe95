package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// recordsErrors changes a key's record so that its project records provider errors.
func recordsErrors(r *doc.Record) { r.RecordProviderErrors = true }

// failing returns a request that the provider rejects with the given message.
func failing(status uint64, message string) request {
	body := `{"error":{"type":"server_error","message":"` + message + `"}}`
	return request{path: "/v1/chat/completions", body: openaiRequest, record: recordsErrors, provider: [][]abi.Event{wholeResponse(status, body)}}
}

// providerTextOf runs a request that fails, and returns the message in its record.
func providerTextOf(t *testing.T, r request) string {
	t.Helper()
	h := r.run(t)
	body := exchange.Ending(h.config, h.State).Body
	var got struct{ ProviderText string }
	if err := json.Unmarshal(body, &got); err != nil || len(body) > ledger.MaxRecordBytes || !utf8.Valid(body) {
		t.Errorf("%v, %d bytes: %s", err, len(body), body)
	}
	return got.ProviderText
}

const awsKey = "AKIAQYLPMN5HHHFPZAM2"

// TestRecordedText: a record has the provider's message without secrets and personal data, however much of it callers
// may see.
func TestRecordedText(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"plain":             {"The engine is overloaded.", "The engine is overloaded."},
		"secret and e-mail": {"No access for " + awsKey + " of jane.doe@example.com", "No access for [AWS_ACCESS_KEY_ID] of [EMAIL]"},
		"control":           {`a\nb\u0000c\u009bd\u007fe`, "a b c d e"},
		"hidden by control": {`Card 4111\u00011111\u00011111\u00011111.`, "Card [PAYMENT_CARD]."},
		"escapes":           {`\u006aane.doe\u0040example.com says \"no\"`, `[EMAIL] says "no"`},
		"half of a pair":    {`a\ud83db`, "a\uFFFDb"},
		"long":              {strings.Repeat("0123456789", 1000), strings.Repeat("0123456789", 50)},
		"long and wide":     {strings.Repeat("a", 499) + strings.Repeat("é", 5000), strings.Repeat("a", 499)},
		"secret at the end": {strings.Repeat("word ", 98) + awsKey, strings.Repeat("word ", 98) + "[AWS_ACCES"},
		"operator's key":    {"Incorrect API key: " + openaiSecret, ""},
		"none":              {"", ""},
		"too long to check": {strings.Repeat("0123456789", 7000), ""},
	} {
		for _, status := range []uint64{400, 401, 429, 503} {
			equal(t, name, providerTextOf(t, failing(status, c.message)), c.want)
		}
	}
	equal(t, "invalid UTF-8 is no JSON", providerTextOf(t, failing(400, "a\xff\xc3b")), "")
	r := failing(500, "")
	r.provider = [][]abi.Event{wholeResponse(500, `{"message":"Down"}`)}
	equal(t, "another shape", providerTextOf(t, r), "Down")
	r.provider = [][]abi.Event{wholeResponse(502, `<html>Bad gateway</html>`)}
	equal(t, "no JSON", providerTextOf(t, r), "")
}

// TestTextOnlyIfWanted: if the setting is off, neither the record nor the state has the message. They do not have it
// either if the request used a project's own key: the message cannot be searched for that key.
func TestTextOnlyIfWanted(t *testing.T) {
	off, own := failing(503, "mark"), failing(503, "mark")
	off.record = nil
	own.policy = &doc.Policy{Version: 2, ProviderKeys: []doc.ProviderKey{{Provider: "openai", KeyID: "m1", Sealed: []byte("sealed")}}}
	for name, r := range map[string]request{"off": off, "project's own key": own} {
		h := r.run(t)
		if body := exchange.Ending(h.config, h.State).Body; strings.Contains(string(h.State)+string(body), "mark") {
			t.Errorf("%s: %s", name, body)
		}
	}
	on := failing(503, "mark").run(t)
	if body := on.responseBody(); strings.Contains(body, "mark") {
		t.Errorf("the caller gets the message: %s", body)
	}
	for _, a := range on.all(abi.ActionLog) {
		if strings.Contains(string(a.Data), "mark") {
			t.Errorf("the log has the message: %s", a.Data)
		}
	}
}

// TestTextOfLastError: a record has the message and the status of the provider's last error response.
func TestTextOfLastError(t *testing.T) {
	r := failing(503, "first")
	r.body = `{"model":"balanced",` + hello + `}`
	r.provider = append(r.provider, wholeResponse(503, `{"error":{"message":"second"}}`))
	equal(t, "two", providerTextOf(t, r), "second")
	r.provider[1] = wholeResponse(503, `{"error":{}}`)
	equal(t, "the second has none", providerTextOf(t, r), "")
}

// TestGovernedText: the record redacts text that the project's own rules redact. If they block the message, nothing
// is recorded.
func TestGovernedText(t *testing.T) {
	for action, want := range map[governor.Action]string{governor.Flag: "The bluebird of [EMAIL]", governor.Redact: "The [KEYWORD_NAMES] of [EMAIL]", governor.Block: ""} {
		s := governor.NewSettings()
		s.Enabled = true
		s.Lists = []governor.KeywordList{{Name: "names", Words: []string{"bluebird"}, Input: governor.Allow, Output: action}}
		r := failing(503, "The bluebird of jane.doe@example.com")
		r.overlay, r.policy = governedOverlay, &doc.Policy{Version: 2, Governor: s.Encode()}
		r.record = func(r *doc.Record) { r.Plan, r.RecordProviderErrors = "governed", true }
		equal(t, action.String(), providerTextOf(t, r), want)
	}
}

// TestTextIsDroppedFirst: if a record is too long, the provider's message is omitted first.
func TestTextIsDroppedFirst(t *testing.T) {
	r := failing(503, strings.Repeat(`\"`, 150))
	r.body = `{"model":"gpt",` + hello + `,"user":"user-17"}`
	equal(t, "the message that fits", len(providerTextOf(t, r)), 150)
	windows := make([]keymeter.Window, 5)
	for i := range windows {
		windows[i] = keymeter.Window{Tokens: true, WindowMs: 1 << 50, Limit: 1 << 50, Remaining: 1 << 50, ResetMs: 1 << 50}
	}
	r.verdicts = []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, Windows: windows}}
	equal(t, "the message", providerTextOf(t, r), "")
	if got := endingOf(t, r); got.User != "user-17" || len(got.Attempts) != 1 {
		t.Errorf("%+v", got)
	}
}
