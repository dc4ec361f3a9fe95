package inspect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// positive is a text with a finding of a rule in testdata/governor.
type positive struct{ rule, text, match string }

var pem = "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k+/KLmTn8ZpWx0RdQyUvGs\n", 5) + "-----END RSA PRIVATE KEY-----"

// secrets has an example of each format that testdata/governor only describes.
var secrets = []positive{
	{"secret.private-key", "key: " + pem + " end", pem},
	{"secret.aws-access-key-id", "id AKIAQ4VN7ZT2KXW3MJ5D;", "AKIAQ4VN7ZT2KXW3MJ5D"},
	{"secret.url-password", "postgres://app:h7Gk29sLqPz@db.example.com/x", "h7Gk29sLqPz"},
	{"secret.password", "password: h7Gk29sLqPz!", "h7Gk29sLqPz!"},
}

// positives reads the examples that are spelled out in the data. The tests of the governor package cover the examples
// with generated tokens.
func positives(t testing.TB) (all []positive) {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/governor/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no data")
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rule := ""
		for _, line := range strings.Split(string(content), "\n") {
			if name, ok := strings.CutPrefix(line, "rule "); ok {
				rule, _, _ = strings.Cut(name, " ")
			}
			text, ok := strings.CutPrefix(line, "+ ")
			if !ok || strings.ContainsAny(text, "{$") {
				continue
			}
			text = strings.ReplaceAll(text, `\n`, "\n")
			_, rest, _ := strings.Cut(text, "«")
			match, _, _ := strings.Cut(rest, "»")
			all = append(all, positive{rule, strings.NewReplacer("«", "", "»", "").Replace(text), match})
		}
	}
	if len(all) < 250 {
		t.Fatalf("only %d examples", len(all))
	}
	return append(all, secrets...)
}

// spell returns text as a JSON string with random escapes.
func spell(r *rand.Rand, text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		switch {
		case c >= 0x10000 && r.IntN(2) == 0:
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+(c-0x10000)>>10, 0xDC00+(c-0x10000)&0x3FF)
		case c < 0x10000 && r.IntN(12) == 0:
			fmt.Fprintf(&b, `\u%04x`, c)
		case c == '/' && r.IntN(2) == 0:
			b.WriteString(`\/`)
		case c == '"' || c == '\\' || c < 0x20:
			quoted := jsontext.AppendString(nil, string(c))
			b.Write(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var fillers = []string{"x", "no finding here. ", "é😀 \"quoted\" \\ ", "\n\ttab", "line\nline ", "Überfluß ", "", "[EMAIL_1] ", "[EMAIL_X] [", "a, b; c. "}

func filler(r *rand.Rand) string { return fillers[r.IntN(len(fillers))] }

func value(r *rand.Rand, depth int) string {
	switch n := r.IntN(8); {
	case n < 3 || depth == 0:
		return spell(r, filler(r))
	case n == 3:
		return []string{"1", "-2.5e3", "true", "false", "null", "1234567", "[]", "{}"}[r.IntN(8)]
	case n < 6:
		var all []string
		for range r.IntN(4) {
			all = append(all, value(r, depth-1))
		}
		return "[" + strings.Join(all, ", ") + " ]"
	}
	return object(r, depth-1, "")
}

// object returns a random object. One of its fields, at any depth, is the given field.
func object(r *rand.Rand, depth int, with string) string {
	var all []string
	for i := range r.IntN(4) {
		all = append(all, fmt.Sprintf(`%s :%s`, spell(r, fmt.Sprintf("%s%d", []string{"note", "k", "é", "content"}[r.IntN(4)], i)), value(r, depth)))
	}
	if with != "" {
		at := r.IntN(len(all) + 1)
		all = append(all[:at:at], append([]string{with}, all[at:]...)...)
	}
	return "{" + strings.Join(all, ",\n ") + "}"
}

// everywhere lists the forms in which a text is put into a random body. %s stands for the text as a JSON string. %d
// stands for a string that contains a JSON document with the text.
var everywhere = []string{
	`"content":%s`, `"content":[{"type":"text","text":%s}]`, `"content":[{"text":%s,"type":"text"},{"type":"image"}]`, `"input":{"a":[%s]}`,
	`"arguments":%d`, `"thinking":%s`, `"parameters":{"properties":{"a":{"description":%s}}}`, `"source":{"data":%s,"type":"text"}`, `"unheard_of":[[%s]]`,
}

func embed(r *rand.Rand, form, text string) string {
	if strings.Contains(form, "%d") {
		return strings.Replace(form, "%d", spell(r, `{"a": {"b":[`+spell(r, text)+`, 1]}}`), 1)
	}
	return strings.Replace(form, "%s", spell(r, text), 1)
}

// TestEveryPositiveAnywhere puts every example into random bodies.
func TestEveryPositiveAnywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 3))
	for _, e := range positives(t) {
		p := policy(t, governor.Redact, ruleNames()...)
		for _, form := range everywhere {
			// The example is the whole text. With words around it, it could be another finding.
			body := object(r, 2, `"a":`+object(r, 3, embed(r, form, e.text)))
			if jsontext.Check([]byte(body)) != jsontext.OK {
				continue // a random name appears twice
			}
			c := &inspect.Check{Policy: p, Redactor: &governor.Redactor{Reversible: true}}
			result := c.Request(inspect.AnthropicRequest, []byte(body))
			if !finds(&result, e.rule) {
				t.Fatalf("%s in %s\nof %q finds %+v", e.rule, body, e.text, result.Findings)
			}
			if result.Decision == governor.Rejected {
				continue // the finding extends beyond one string of a document
			}
			checkRewritten(t, c, body, &result, e)
		}
	}
}

func ruleNames() (all []string) {
	for _, rule := range governor.Table() {
		switch rule.Category {
		case governor.Secret, governor.Personal, governor.Injection:
			all = append(all, rule.Name)
		}
	}
	return all
}

func finds(r *inspect.Result, rule string) bool {
	for _, f := range r.Findings {
		if governor.Table()[f.Rule].Name == rule {
			return true
		}
	}
	return false
}

// checkRewritten checks the properties that every rewritten body has.
func checkRewritten(t *testing.T, c *inspect.Check, body string, r *inspect.Result, e positive) {
	t.Helper()
	if jsontext.Check(r.Body) != jsontext.OK {
		t.Fatalf("%s\nbecomes invalid: %s", body, r.Body)
	}
	if strings.Contains(plainText(t, r.Body), e.match) {
		t.Fatalf("%s\nstill has %q: %s", body, e.match, r.Body)
	}
	if again := c.Request(inspect.AnthropicRequest, r.Body); again.Body != nil {
		t.Fatalf("%s\nredacted again: %s", r.Body, again.Body)
	}
	restored := inspect.Restore(inspect.AnthropicAnswer, r.Body, c.Redactor)
	if jsontext.Check(restored) != jsontext.OK || !sameText(t, restored, []byte(body)) {
		t.Fatalf("%s\nredacted %s\nrestored %s", body, r.Body, restored)
	}
	unchanged(t, []byte(body), r.Body)
}

// unchanged checks that two bodies differ only inside strings. Everything else must be the same, byte for byte.
func unchanged(t *testing.T, a, b []byte) {
	t.Helper()
	if x, y := skeleton(a), skeleton(b); !bytes.Equal(x, y) {
		t.Fatalf("%s\nbecomes %s\nbeyond its strings", a, b)
	}
}

// skeleton returns JSON with its strings emptied.
func skeleton(data []byte) (out []byte) {
	for i := 0; i < len(data); i++ {
		out = append(out, data[i])
		if data[i] != '"' {
			continue
		}
		for i++; data[i] != '"'; i++ {
			if data[i] == '\\' {
				i++
			}
		}
		out = append(out, '"')
	}
	return out
}

// decode decodes JSON, including JSON inside its strings.
func decode(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return deeper(v)
}

func deeper(v any) any {
	switch v := v.(type) {
	case string:
		var inner any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
			return deeper(inner)
		}
	case []any:
		for i := range v {
			v[i] = deeper(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = deeper(v[k])
		}
	}
	return v
}

func plainText(t *testing.T, data []byte) string { return fmt.Sprint(decode(t, data)) }

func sameText(t *testing.T, a, b []byte) bool {
	return reflect.DeepEqual(decode(t, a), decode(t, b))
}

// TestOtherBytesStay: if there is only one finding, all bytes before and after it stay the same.
func TestOtherBytesStay(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		form := everywhere[r.IntN(len(everywhere))]
		body := object(r, 3, embed(r, form, filler(r)+" \x01 "+filler(r)))
		if jsontext.Check([]byte(body)) != jsontext.OK {
			continue
		}
		before, behind, ok := cutMark(body)
		if !ok {
			t.Fatalf("no mark in %s", body)
		}
		result := redacting(t).Request(inspect.OpenAIRequest, []byte(before+email+behind))
		got := string(result.Body)
		middle, found := strings.CutPrefix(got, before)
		middle, end := strings.CutSuffix(middle, behind)
		if !found || !end || !strings.HasPrefix(middle, "[EMAIL_") || len(middle) > len("[EMAIL_2]") {
			t.Fatalf("%s%s%s\nbecomes %s", before, email, behind, got)
		}
	}
}

// cutMark cuts a body at the control character U+0001. The character may be escaped in any way.
func cutMark(body string) (before, behind string, ok bool) {
	for _, mark := range []string{`\\u0001`, `\u005cu0001`, `\u0001`} {
		if before, behind, ok = strings.Cut(body, mark); ok {
			return before, behind, true
		}
	}
	return spelledMark(body)
}

// spelledMark does the same as cutMark for an escape in a string inside a string. The characters of the escape may be
// escaped too.
func spelledMark(body string) (before, behind string, ok bool) {
	for _, backslash := range []string{`\\`, `\u005c`} {
		for _, u := range []string{"u", `\u0075`} {
			for n := range 16 {
				mark := backslash + u
				for i := range 4 {
					digit := "0001"[i : i+1]
					if n>>i&1 == 1 {
						digit = `\u003` + digit
					}
					mark += digit
				}
				if before, behind, ok = strings.Cut(body, mark); ok {
					return before, behind, true
				}
			}
		}
	}
	return "", "", false
}
