package postern

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

const webhookTable = "../../testdata/webhooks.json"

type webhookCase struct {
	Name        string
	Secrets     []string
	NowMs       int64
	ToleranceMs int64
	Headers     map[string]string
	Body        string
	Expect      struct{ Event, Error map[string]any }
}

// TestWebhookTable runs the cases that the client libraries share.
func TestWebhookTable(t *testing.T) {
	text, err := os.ReadFile(webhookTable)
	if err != nil {
		t.Fatal(err)
	}
	var cases []webhookCase
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			header := http.Header{}
			for name, value := range c.Headers {
				header.Set(name, value)
			}
			event, err := WebhookVerifier{
				Secrets: c.Secrets, Tolerance: time.Duration(c.ToleranceMs) * time.Millisecond,
				now: func() time.Time { return time.UnixMilli(c.NowMs) },
			}.Verify([]byte(c.Body), header)
			r := &run{T: t}
			for _, secret := range c.Secrets {
				if err != nil && secret != "" && strings.Contains(err.Error(), strings.TrimPrefix(secret, "whsec_")) {
					t.Errorf("%v has the secret", err)
				}
			}
			if c.Expect.Error != nil {
				r.compare("the error", c.Expect.Error, wireError(err))
				r.seen(err)
			} else if err != nil {
				t.Error(err)
			} else {
				r.compare("the event", c.Expect.Event, wireWebhook(event))
			}
		})
	}
}

// wireWebhook returns an event in the table's form.
func wireWebhook(e *WebhookEvent) any {
	members := wire(*e).(map[string]any)
	if raw, unknown := e.Data.(UnknownWebhookData); unknown {
		members["data"] = wire(json.RawMessage(raw))
	}
	return members
}

// Signed returns the headers of a delivery that is sent now.
func Signed(body, secret string) http.Header {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	now := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "evt_1.%s.%s", now, body)
	h := http.Header{}
	h.Set("webhook-id", "evt_1")
	h.Set("webhook-timestamp", now)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return h
}

// SecretOf returns a secret of 24 equal bytes.
func SecretOf(b byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(b), 24)))
}

// wantCode checks the code of a *WebhookVerificationError.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var wrong *WebhookVerificationError
	if !errors.As(err, &wrong) || wrong.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

func TestWebhookSecretsOfVariable(t *testing.T) {
	body := []byte(`{"type":"new.thing"}`)
	header := Signed(string(body), SecretOf('b'))
	for value, fits := range map[string]bool{
		SecretOf('b'):                                true,
		SecretOf('a') + " " + SecretOf('b'):          true,
		SecretOf('a') + ", \n" + SecretOf('b') + ",": true,
		SecretOf('a'):                                false,
	} {
		t.Setenv("POSTERN_WEBHOOK_SECRET", value)
		event, err := VerifyWebhook(body, header)
		if fits && (err != nil || event.ID != "evt_1" || string(event.Body) != string(body)) {
			t.Errorf("%+v %v", event, err)
		} else if !fits {
			wantCode(t, err, "invalid_signature")
		}
	}
	if _, err := VerifyWebhook(body, header, SecretOf('a')); err == nil {
		t.Error("the variable is not hidden by a secret")
	}
}

func TestWebhookWithoutSecrets(t *testing.T) {
	body := []byte(`{"type":"new.thing"}`)
	header := Signed(string(body), SecretOf('b'))
	for value, want := range map[string]string{
		"":                 "postern: webhook secret is required: give it or set POSTERN_WEBHOOK_SECRET",
		" , ":              "postern: webhook secret is required: give it or set POSTERN_WEBHOOK_SECRET",
		"whsec_malformed!": "postern: POSTERN_WEBHOOK_SECRET must be whsec_ and at least 24 bytes in base64",
	} {
		t.Setenv("POSTERN_WEBHOOK_SECRET", value)
		_, err := VerifyWebhook(body, header)
		wantConfigurationError(t, map[string]error{value: err}, want)
	}
}

// TestWebhookWorkIsBounded checks the limits on the number of signatures and the size of the body.
func TestWebhookWorkIsBounded(t *testing.T) {
	secret := SecretOf('a')
	body := `{"type":"new.thing"}`
	header := Signed(body, secret)
	right := header.Get("webhook-signature")
	for others, code := range map[string]string{
		strings.Repeat("v1,AAAA ", 15):  "",
		strings.Repeat("v1,AAAA ", 16):  "invalid_signature",
		strings.Repeat("v1a,AAAA ", 99): "", // another version
		"  ":                            "",
	} {
		header.Set("webhook-signature", others+right)
		if _, err := VerifyWebhook([]byte(body), header, secret); code != "" {
			wantCode(t, err, code)
		} else if err != nil {
			t.Errorf("%.20s: %v", others, err)
		}
	}
	body = `{"type":"new.thing"}` + strings.Repeat(" ", maxWebhookBytes-20)
	if _, err := VerifyWebhook([]byte(body), Signed(body, secret), secret); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	body += " "
	_, err := VerifyWebhook([]byte(body), Signed(body, secret), secret)
	wantCode(t, err, "invalid_payload")
}

func TestWebhookHeaders(t *testing.T) {
	secret, body := SecretOf('a'), `{"type":"new.thing"}`
	header := Signed(body, secret)
	lower := http.Header{}
	for name, values := range header { // some frameworks write header names like this
		lower[strings.ToLower(name)] = values
	}
	lower["webhook-signature"] = []string{"v1,AAAA", header.Get("webhook-signature")}
	if _, err := VerifyWebhook([]byte(body), lower, secret); err != nil {
		t.Error(err)
	}
	_, err := VerifyWebhook([]byte(body), nil, secret)
	wantCode(t, err, "missing_header")
	_, err = WebhookVerifier{Secrets: []string{secret}, Tolerance: -1}.Verify([]byte(body), header)
	wantConfigurationError(t, map[string]error{"negative": err}, "postern: Tolerance must not be negative")
}

func TestWebhookData(t *testing.T) {
	secret := SecretOf('a')
	at := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for body, want := range map[string]WebhookData{
		`{"type":"budget.threshold","data":{"projectId":"proj_1","thresholdPercent":100,"budget":{"limit":1,"used":1.5}}}`: BudgetThreshold{
			ProjectID: "proj_1", ThresholdPercent: 100, Budget: WebhookBudget{Limit: 1, Used: 1.5},
		},
		`{"type":"budget.threshold","data":{"projectId":null,"node":{"level":"group","id":"grp_1","name":"R"},"thresholdPercent":80,"budget":{"end":null}}}`: BudgetThreshold{
			Node: &BudgetNode{Level: "group", ID: "grp_1", Name: "R"}, ThresholdPercent: 80,
		},
		`{"type":"violation.created","data":{"projectId":"proj_1","count":2,"violation":{"id":"vio_1","note":null}}}`: ViolationCreated{
			ProjectID: "proj_1", Count: 2, Violation: Violation{ID: "vio_1"},
		},
		`{"type":"compliance.checkpoint","data":{"project":"proj_1","object":"ledger","seq":7,"time":"2026-11-27T00:00:00.000Z"}}`: ComplianceCheckpoint{
			Project: "proj_1", Object: "ledger", Seq: 7, Time: at,
		},
		`{"type":"new.thing","data":[1]}`: UnknownWebhookData(`[1]`),
		`{"type":"new.thing"}`:            UnknownWebhookData(nil),
	} {
		event, err := VerifyWebhook([]byte(body), Signed(body, secret), secret)
		if err != nil || !reflect.DeepEqual(event.Data, want) {
			t.Errorf("%s: %+v %v", body, event, err)
		}
	}
	for _, body := range []string{
		"", "null", `"x"`, `{"type":1}`, `{"type":"x"} more`, `{"type":"budget.threshold"}`, `{"type":"budget.threshold","data":{"budget":1}}`,
	} {
		_, err := VerifyWebhook([]byte(body), Signed(body, secret), secret)
		wantCode(t, err, "invalid_payload")
	}
}
