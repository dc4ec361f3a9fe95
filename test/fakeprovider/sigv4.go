package fakeprovider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"sort"
	"strings"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([A-Za-z0-9]+)/(\d{8})/([a-z0-9-]+)/bedrock/aws4_request, ?` +
	`SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$`)

// refuseSignature checks the format of a Signature Version 4, and the signature itself if the secret is known.
// It also accepts a Bedrock API key, which is a bearer token. Source: AWS General Reference, "Create a signed
// AWS API request".
func refuseSignature(q *request) *refusal {
	header := q.r.Header.Get("Authorization")
	if header == "" {
		return &refusal{status: 403, kind: "MissingAuthenticationTokenException", message: "Missing Authentication Token"}
	}
	if q.bearer() {
		return nil
	}
	m := authorization.FindStringSubmatch(header)
	date := q.r.Header.Get("X-Amz-Date")
	if m == nil {
		return &refusal{status: 403, kind: "IncompleteSignatureException", message: "Authorization header is not of the form of AWS4-HMAC-SHA256."}
	}
	if len(date) != len("20060102T150405Z") || !strings.HasPrefix(date, m[2]+"T") {
		return &refusal{status: 403, kind: "InvalidSignatureException", message: "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP"}
	}
	for _, name := range []string{"host", "x-amz-date"} {
		if !strings.Contains(";"+m[4]+";", ";"+name+";") {
			return &refusal{status: 403, kind: "InvalidSignatureException", message: "'" + name + "' must be a signed header."}
		}
	}
	if q.awsSecret != "" && q.sign(m[2], m[3], date, m[4]) != m[5] {
		return &refusal{status: 403, kind: "InvalidSignatureException", message: "The request signature we calculated does not match the signature you provided."}
	}
	return nil
}

func (q *request) sign(day, region, date, signedHeaders string) string {
	scope := day + "/" + region + "/bedrock/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hexSum(q.canonical(signedHeaders))
	key := []byte("AWS4" + q.awsSecret)
	for _, part := range []string{day, region, "bedrock", "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// canonical returns the canonical request. Its path is the URL's escaped path, escaped again.
func (q *request) canonical(signedHeaders string) string {
	var b strings.Builder
	b.WriteString(q.r.Method + "\n" + escapedPath(q.r.URL.EscapedPath()) + "\n" + canonicalQuery(q.r.URL.Query()) + "\n")
	for _, name := range strings.Split(signedHeaders, ";") {
		value := q.r.Header.Get(name)
		if name == "host" {
			value = q.r.Host
		}
		b.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	b.WriteString("\n" + signedHeaders + "\n" + hexSum(string(q.body)))
	return b.String()
}

func escapedPath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = awsEscape(part)
	}
	return strings.Join(parts, "/")
}

// awsEscape percent-encodes everything except letters, digits and "-_.~".
func awsEscape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		for _, value := range values {
			pairs = append(pairs, awsEscape(name)+"="+awsEscape(value))
		}
	}
	sort.Strings(pairs)
	return strings.Join(pairs, "&")
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
