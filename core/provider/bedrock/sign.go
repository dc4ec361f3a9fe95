package bedrock

import (
	"crypto/sha256"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/hmac"
)

// signer signs requests to AWS with Signature Version 4. Source: AWS IAM User Guide, "AWS Signature Version 4
// for API requests" (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html).
type signer struct {
	accessKeyID, secret, token string // the session token of temporary credentials; empty: none
	region, service            string
	nowMs                      uint64
}

const algorithm = "AWS4-HMAC-SHA256"

// sign returns the headers to add to a request. Of the existing headers, it signs only content-type. If the request
// has no such header, contentType is empty. The URL must have no query.
func (s *signer) sign(method, url, contentType string, body []byte) []abi.Header {
	stamp := timestamp(s.nowMs)
	scope := stamp[:len("20060102")] + "/" + s.region + "/" + s.service + "/aws4_request"
	canonical, signed := s.canonical(method, url, contentType, stamp, body)
	hash := sha256.Sum256([]byte(canonical))
	signature := hmac.SHA256(s.key(stamp[:len("20060102")]), algorithm+"\n"+stamp+"\n"+scope+"\n"+hex(hash[:]))

	headers := append(make([]abi.Header, 0, 3), abi.Header{Name: "x-amz-date", Value: stamp})
	if s.token != "" {
		headers = append(headers, abi.Header{Name: "x-amz-security-token", Value: s.token})
	}
	return append(headers, abi.Header{Name: "authorization", Value: algorithm +
		" Credential=" + s.accessKeyID + "/" + scope + ", SignedHeaders=" + signed + ", Signature=" + hex(signature)})
}

// canonical returns the canonical request and the names of its signed headers, in order.
func (s *signer) canonical(method, url, contentType, stamp string, body []byte) (request, signed string) {
	host, path := split(url)
	headers := "host:" + host + "\nx-amz-date:" + stamp + "\n"
	signed = "host;x-amz-date"
	if contentType != "" {
		headers = "content-type:" + contentType + "\n" + headers
		signed = "content-type;" + signed
	}
	if s.token != "" {
		headers += "x-amz-security-token:" + s.token + "\n"
		signed += ";x-amz-security-token"
	}
	hash := sha256.Sum256(body)
	// Except for S3, the URL's escaped path is escaped again.
	return method + "\n" + escape(path, true) + "\n\n" + headers + "\n" + signed + "\n" + hex(hash[:]), signed
}

// key derives the signing key for a day, a region and a service.
func (s *signer) key(date string) []byte {
	key := hmac.SHA256([]byte("AWS4"+s.secret), date)
	key = hmac.SHA256(key, s.region)
	key = hmac.SHA256(key, s.service)
	return hmac.SHA256(key, "aws4_request")
}

// split returns a URL's host and its path. The host includes the port, if there is one.
func split(url string) (host, path string) {
	if i := strings.Index(url, "://"); i >= 0 {
		url = url[i+len("://"):]
	}
	if i := strings.IndexByte(url, '/'); i >= 0 {
		return url[:i], url[i:]
	}
	return url, "/"
}

const lowerDigits = "0123456789abcdef"

func hex(b []byte) string {
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, lowerDigits[c>>4], lowerDigits[c&15])
	}
	return string(out)
}

// escape percent-encodes every byte except letters, digits and "-._~". If slashes is set, "/" stays unchanged too.
func escape(s string, slashes bool) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9',
			c == '-' || c == '.' || c == '_' || c == '~', c == '/' && slashes:
			out = append(out, c)
		default:
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(out)
}

// timestamp formats Unix milliseconds as 20261121T093000Z.
func timestamp(ms uint64) string {
	year, month, day := calendar.Date(calendar.Day(ms))
	second := ms % calendar.DayMs / calendar.SecondMs
	b := make([]byte, 0, 16)
	b = twoDigits(twoDigits(twoDigits(twoDigits(b, year/100), year%100), month), day)
	b = append(b, 'T')
	b = twoDigits(twoDigits(twoDigits(b, second/3600), second/60%60), second%60)
	return string(append(b, 'Z'))
}

func twoDigits(b []byte, n uint64) []byte { return append(b, byte('0'+n/10%10), byte('0'+n%10)) }
