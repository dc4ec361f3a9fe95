package bedrock

import (
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

// suiteToken is the session token in the suite's example post-sts-header-before.
const suiteToken = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7" +
	"mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64" +
	"lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

// suite has examples from AWS's Signature Version 4 test suite, with their original names. Their paths are unescaped.
var suite = []struct{ name, method, url, contentType, token, body, signed, signature string }{
	{"get-vanilla", "GET", "https://example.amazonaws.com/", "", "", "",
		"host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"get-vanilla, no path", "GET", "https://example.amazonaws.com", "", "", "",
		"host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"get-unreserved", "GET", "https://example.amazonaws.com/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "", "", "",
		"host;x-amz-date", "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
	{"get-utf8", "GET", "https://example.amazonaws.com/\u1234", "", "", "",
		"host;x-amz-date", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
	{"get-space", "GET", "https://example.amazonaws.com/example space/", "", "", "",
		"host;x-amz-date", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
	{"post-vanilla", "POST", "https://example.amazonaws.com/", "", "", "",
		"host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "application/x-www-form-urlencoded", "", "Param1=value1",
		"content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	{"post-sts-header-before", "POST", "https://example.amazonaws.com/", "", suiteToken, "",
		"host;x-amz-date;x-amz-security-token", "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
}

func value(headers []abi.Header, name string) string {
	for _, h := range headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

func TestSuite(t *testing.T) {
	for _, c := range suite {
		s := signer{
			accessKeyID: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token: c.token,
			region: "us-east-1", service: "service", nowMs: 1440938160_000,
		}
		headers := s.sign(c.method, c.url, c.contentType, []byte(c.body))
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + c.signed + ", Signature=" + c.signature
		if got := value(headers, "authorization"); got != want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, want)
		}
		if value(headers, "x-amz-date") != "20150830T123600Z" || value(headers, "x-amz-security-token") != c.token {
			t.Errorf("%s: headers %v", c.name, headers)
		}
	}
}

func TestPathIsEscapedTwice(t *testing.T) {
	s := signer{region: "us-east-1", service: "bedrock"}
	url := "https://bedrock-runtime.us-east-1.amazonaws.com/model/" + escape("arn:aws:bedrock:us-east-1:1:inference-profile/a.b-v1:0", false) + "/converse"
	if want := "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fa.b-v1%3A0/converse"; !strings.HasSuffix(url, want) {
		t.Errorf("URL %s", url)
	}
	request, _ := s.canonical("POST", url, "application/json", "20261121T000000Z", nil)
	want := "POST\n/model/arn%253Aaws%253Abedrock%253Aus-east-1%253A1%253Ainference-profile%252Fa.b-v1%253A0/converse\n\n" +
		"content-type:application/json\nhost:bedrock-runtime.us-east-1.amazonaws.com\nx-amz-date:20261121T000000Z\n\ncontent-type;host;x-amz-date\n"
	if !strings.HasPrefix(request, want) {
		t.Errorf("%s, want\n%s", request, want)
	}
}

func TestTimestamp(t *testing.T) {
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Date(2024, 2, 29, 23, 59, 59, 999e6, time.UTC), time.Date(2026, 11, 21, 9, 5, 7, 0, time.UTC),
	} {
		if got := timestamp(uint64(at.UnixMilli())); got != at.UTC().Format("20060102T150405Z") {
			t.Errorf("%v: %s", at, got)
		}
	}
}

func TestModelVersion(t *testing.T) {
	for id, want := range map[string][2]uint64{
		"global.anthropic.claude-opus-4-8":                {4, 8},
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0":    {4, 5},
		"anthropic.claude-3-7-sonnet-20250219-v1:0":       {3, 7},
		"anthropic.claude-sonnet-4-20250514-v1:0":         {4, 0},
		"anthropic.claude-opus-4-6-v1":                    {4, 6},
		"anthropic.claude-opus-5":                         {5, 0},
		"anthropic.claude-instant-v1":                     {0, 0},
		"anthropic.claude-v2:1":                           {0, 0},
		"anthropic.claude-mythos-preview":                 {0, 0},
		"anthropic.claude":                                {0, 0},
		"anthropic.claude-3-":                             {3, 0},
		"anthropic.claude-123456789012345678901234567890": {0, 0},
		"amazon.nova-2-lite-v1:0":                         {0, 0},
	} {
		if major, minor, ok := modelVersion(id); major != want[0] || minor != want[1] || ok != (want[0] > 0) {
			t.Errorf("%s: %d.%d, %v", id, major, minor, ok)
		}
	}
}
