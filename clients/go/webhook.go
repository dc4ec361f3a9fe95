package postern

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTolerance = 5 * time.Minute
	maxWebhookBytes  = 1 << 20
	maxSignatures    = 16
	minSecretBytes   = 24 // required by the standard, and used in the gateway's secrets
	maxUnixSeconds   = 1 << 40
)

// WebhookVerifier verifies deliveries of a project's alert webhook. The zero value uses the secrets in the variable
// POSTERN_WEBHOOK_SECRET and a tolerance of 5 minutes. A verifier is safe for concurrent use.
type WebhookVerifier struct {
	// Secrets are the webhook's secrets: whsec_ and at least 24 bytes in base64. The project's settings show each
	// secret once. A delivery may be signed with any of these secrets. While you rotate the secret, set both the old
	// and the new one. If Secrets is nil, the secrets come from POSTERN_WEBHOOK_SECRET, separated by spaces or
	// commas.
	Secrets []string `json:"-"`
	// Tolerance is how far the time of a delivery may be from the current time, in both directions. Zero means 5
	// minutes.
	Tolerance time.Duration

	now func() time.Time // replaced in tests; nil means time.Now
}

// String describes the verifier without its secrets.
func (v WebhookVerifier) String() string {
	return fmt.Sprintf("postern.WebhookVerifier(%d secrets)", len(v.Secrets))
}

// Format writes String, for any verb. fmt does not call Format for a value in an unexported field. In such a field,
// use a pointer to a verifier.
func (v WebhookVerifier) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, v.String()) }

// VerifyWebhook verifies a delivery and returns its event. body is the body as it arrived, at most 1 MiB. If you pass
// no secrets, the secrets come from POSTERN_WEBHOOK_SECRET. The tolerance is 5 minutes; for another one, use a
// WebhookVerifier. If the gateway did not send the delivery, or if its time is outside the tolerance, the error is a
// *WebhookVerificationError. If a secret is missing or malformed, the error is a *ConfigurationError.
//
// The gateway repeats a delivery, with the same ID, until it receives a 2xx status. Skip an ID that you have seen.
func VerifyWebhook(body []byte, header http.Header, secrets ...string) (*WebhookEvent, error) {
	return WebhookVerifier{Secrets: secrets}.Verify(body, header)
}

// Verify is like VerifyWebhook, with the settings of v.
//
// The signature follows Standard Webhooks (https://www.standardwebhooks.com, specification at
// github.com/standard-webhooks/standard-webhooks). It is the HMAC-SHA-256 of id.timestamp.body.
func (v WebhookVerifier) Verify(body []byte, header http.Header) (*WebhookEvent, error) {
	keys, err := v.keys()
	if err != nil {
		return nil, err
	}
	d := delivery{
		id:         headerValue(header, "webhook-id"),
		timestamp:  headerValue(header, "webhook-timestamp"),
		signatures: headerValue(header, "webhook-signature"),
		body:       body,
	}
	if d.id == "" || d.timestamp == "" || d.signatures == "" {
		return nil, unverified("missing_header", "needs the headers webhook-id, webhook-timestamp and webhook-signature")
	}
	if err := v.checkTime(d.timestamp); err != nil {
		return nil, err
	}
	if len(body) > maxWebhookBytes {
		return nil, unverified(codeInvalidPayload, "the body is larger than 1 MiB")
	}
	if !d.isSigned(keys) {
		return nil, unverified("invalid_signature", "no signature fits the body and a secret")
	}
	return newWebhookEvent(body, d.id)
}

// keys decodes the secrets into HMAC keys. Errors do not contain them.
func (v WebhookVerifier) keys() ([][]byte, error) {
	setting, secrets := "secret", v.Secrets
	if secrets == nil {
		setting = "POSTERN_WEBHOOK_SECRET"
		secrets = strings.FieldsFunc(os.Getenv(setting), func(r rune) bool { return r == ',' || r <= ' ' })
	}
	if len(secrets) == 0 {
		return nil, misconfigured("webhook secret", "is required: give it or set POSTERN_WEBHOOK_SECRET")
	}
	var keys [][]byte
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(secret), "whsec_"))
		if err != nil || len(key) < minSecretBytes {
			return nil, misconfigured(setting, "must be whsec_ and at least 24 bytes in base64")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (v WebhookVerifier) checkTime(timestamp string) error {
	tolerance := cmp.Or(v.Tolerance, defaultTolerance)
	if tolerance < 0 {
		return misconfigured("Tolerance", "must not be negative")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !isDigits(timestamp) {
		return unverified("invalid_timestamp", "webhook-timestamp is no number of seconds")
	}
	now := time.Now()
	if v.now != nil {
		now = v.now()
	}
	if now.Sub(time.Unix(min(seconds, maxUnixSeconds), 0)).Abs() > tolerance {
		return unverified("timestamp_out_of_tolerance", "webhook-timestamp is more than "+tolerance.String()+" away from now")
	}
	return nil
}

// delivery has the signed parts of a request and its signatures: v1,… separated by spaces.
type delivery struct {
	id, timestamp, signatures string
	body                      []byte
}

// isSigned checks the first maxSignatures signatures. It reports whether one of the keys made one of them.
func (d delivery) isSigned(keys [][]byte) bool {
	var wanted [][]byte
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(d.id + "." + d.timestamp + "."))
		mac.Write(d.body)
		wanted = append(wanted, base64.StdEncoding.AppendEncode([]byte("v1,"), mac.Sum(nil)))
	}
	compared, found := 0, false
	for rest := d.signatures; rest != "" && compared < maxSignatures; {
		var signature string
		signature, rest, _ = strings.Cut(rest, " ")
		signature = strings.TrimSuffix(signature, ",") // a comma that remains if headers were joined with ", "
		if !strings.HasPrefix(signature, "v1,") {
			continue // the signature has an unknown version
		}
		compared++
		for _, w := range wanted {
			found = hmac.Equal(w, []byte(signature)) || found // in constant time
		}
	}
	return found
}

// headerValue returns a header's values, separated by spaces. It ignores the case of names, because the map might not
// come from net/http.
func headerValue(header http.Header, name string) string {
	values := header.Values(name)
	for other, more := range header {
		if len(values) == 0 && strings.EqualFold(other, name) {
			values = more
		}
	}
	return strings.TrimSpace(strings.Join(values, " "))
}

// isObject reports whether text begins like a JSON object.
func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}
