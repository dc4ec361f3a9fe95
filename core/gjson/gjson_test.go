package gjson_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	other "github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/gjson"
	"github.com/postern-ai/postern/core/jsontext"
)

// sameTypes maps the other package's types.
var sameTypes = map[other.Type]gjson.Type{
	other.Null: gjson.Null, other.False: gjson.False, other.Number: gjson.Number, other.String: gjson.String, other.True: gjson.True, other.JSON: gjson.JSON,
}

// compare checks a value and all below it against the other package. texts is false for texts with lone surrogates, whose
// replacement differs.
func compare(t *testing.T, where string, got gjson.Result, want other.Result, texts bool) {
	t.Helper()
	if got.Exists() != want.Exists() || got.Type != sameTypes[want.Type] || got.Raw != want.Raw {
		t.Fatalf("%s: got %d %q, want %d %q", where, got.Type, got.Raw, want.Type, want.Raw)
	}
	if got.Num() != want.Num && got.Num() == got.Num() || texts && (got.Str() != want.Str || got.String() != want.String()) {
		t.Fatalf("%s: got %q %v, want %q %v", where, got.String(), got.Num(), want.String(), want.Num)
	}
	if got.IsObject() != want.IsObject() || got.IsArray() != want.IsArray() || got.IsBool() != want.IsBool() || got.Type == gjson.Number && got.Num() < 1<<52 && got.Num() >= 0 && got.Uint() != want.Uint() {
		t.Fatalf("%s: the kind of %q differs", where, got.Raw)
	}
	var keys, values []other.Result
	want.ForEach(func(key, v other.Result) bool { keys, values = append(keys, key), append(values, v); return true })
	i := 0
	got.ForEach(func(key, v gjson.Result) bool {
		if i == len(values) {
			t.Fatalf("%s: more than %d values", where, i)
		}
		if want.IsObject() && (key.Raw != keys[i].Raw || texts && key.Str() != keys[i].Str) {
			t.Fatalf("%s: got key %s, want %s", where, key.Raw, keys[i].Raw)
		}
		if got.Type == gjson.JSON {
			compare(t, where+"/"+strconv.Itoa(i), v, values[i], texts)
		}
		i++
		return true
	})
	if i != len(values) {
		t.Fatalf("%s: %d values, want %d", where, i, len(values))
	}
	if len(got.Array()) != len(want.Array()) {
		t.Fatalf("%s: %d elements, want %d", where, len(got.Array()), len(want.Array()))
	}
}

// paths that the generated documents have, lack, or have below a value of another type.
var paths = []string{"a", "b", "a.a", "a.b", "0", "1", "a.0", "0.a", "b.1.a", "é", "a.é", "missing", "a.missing.b", "10"}

func check(t *testing.T, text string) {
	t.Helper()
	texts := !strings.Contains(text, `\u`)
	if strings.TrimSpace(text) != "" && !json.Valid([]byte(text)) {
		t.Fatalf("accepted, but invalid: %q", text)
	}
	compare(t, text, gjson.Parse(text), other.Parse(text), texts)
	if gjson.Parse(text).Type != gjson.JSON {
		return // The other package would look for a path inside a string.
	}
	for _, path := range paths {
		compare(t, text+" at "+path, gjson.Get(text, path), other.Get(text, path), texts)
	}
}

func TestValues(t *testing.T) {
	for _, text := range []string{
		``, ` `, `null`, ` true `, `false`, `-0`, `1.5e3`, `12345678901234567890`, `""`, `"a\"b\\"`, `"\\"`, `"é\n"`, `[]`, `{}`, ` [ ] `, "\t{ }\n",
		`[1,2 , 3]`, `{"a":1,"b" : {"a":[{"a":"\\"}]}}`, `{"\"":1,"a":2}`, `{"a":"` + strings.Repeat("x", 100) + `\"` + strings.Repeat("y", 100) + `","b":[1,{"a":2}]}`,
		`[[],[[]],{"a":{}}]`, `{"":1}`, `{"a":null}`, `[null]`, `"` + strings.Repeat(`\\`, 9) + `"`, `{"a":{"0":1}}`, `["\u00e9"]`, `{"\u0061":1}`,
	} {
		check(t, text)
	}
	if got := gjson.Get(`{"\u0061":{"b":"\ud83d\ude00"}}`, "a.b").Str(); got != "😀" {
		t.Errorf("escapes: %q", got)
	}
}

// TestRandomDocuments compares random documents, whole and with random bytes changed, with the other package.
func TestRandomDocuments(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range 20_000 {
		text := []byte(document(random, 4))
		for range random.IntN(3) {
			if len(text) > 0 {
				text[random.IntN(len(text))] = (`{}[]",:\ 01eé` + "\n")[random.IntN(14)]
			}
		}
		touch(string(text))
		if jsontext.Check(text) == jsontext.OK {
			valid++
			check(t, string(text))
		}
	}
	if valid < 5000 {
		t.Errorf("only %d valid documents", valid)
	}
}

func document(r *rand.Rand, depth int) string {
	space := []string{"", "", " ", "\n"}[r.IntN(4)]
	kind := r.IntN(8)
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		return space + "null"
	case 1:
		return space + strconv.FormatBool(r.IntN(2) == 0)
	case 2:
		return space + strconv.FormatFloat(r.NormFloat64()*1000, 'g', -1, 64)
	case 3:
		return strconv.Itoa(r.IntN(1000)) + space
	case 4, 5:
		text, _ := json.Marshal(strings.Repeat([]string{"a", "é", "\"", "\\", "\n", "ab]}{["}[r.IntN(6)], r.IntN(20)))
		return string(text) + space
	case 6:
		var elements []string
		for range r.IntN(4) {
			elements = append(elements, document(r, depth-1))
		}
		return "[" + space + strings.Join(elements, ",") + "]"
	}
	var members []string
	for _, key := range []string{`"a"`, `"b"`, `"é"`, `"\""`, `"\u00e9x"`}[r.IntN(5):] {
		members = append(members, key+space+":"+document(r, depth-1))
	}
	return "{" + strings.Join(members, ","+space) + "}"
}

// touch reads everything of a text that may be invalid.
func touch(text string) {
	for _, path := range paths {
		_ = gjson.Get(text, path).String()
	}
	visit(gjson.Parse(text))
}

func visit(v gjson.Result) {
	_, _, _, _ = v.String(), v.Num(), v.Uint(), v.Array()
	v.ForEach(func(key, value gjson.Result) bool {
		_ = key.Str()
		if v.Type == gjson.JSON {
			visit(value)
		}
		return true
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,"\u00e9",{"b":null}]}`, `"\`, `"\u1`, `{"a`, `[1,`, `{"a":"\ud83d"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		touch(text)
		if jsontext.Check([]byte(text)) == jsontext.OK {
			check(t, text)
		}
	})
}
