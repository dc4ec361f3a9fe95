package openai_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// parseEmbeddings returns the problems as "field message", one per line.
func parseEmbeddings(members string) (e openai.Embeddings, problems string) {
	p := api.Parser{}
	e = openai.ParseEmbeddings(&p, gjson.Parse("{"+members+"}"), false)
	return e, problemLines(p.Details)
}

func problemLines(details []fault.Detail) (lines string) {
	for _, d := range details {
		lines += d.Field + " " + d.Message + "\n"
	}
	return lines
}

func TestInvalidEmbeddings(t *testing.T) {
	const form = "input must contain only strings or only arrays of token IDs\n"
	for members, want := range map[string]string{
		`"model":"m"`:                                                   "input is required\n",
		`"input":"a"`:                                                   "model is required\n",
		`"model":"","input":"a"`:                                        "model must be a string of 1 to 200 bytes, got \"\"\n",
		`"model":"m","input":7`:                                         "input must be a string, an array of strings or an array of token IDs, got a number\n",
		`"model":"m","input":[]`:                                        "input must have 1 to 2048 elements, got 0\n",
		`"model":"m","input":["a",[1]]`:                                 form,
		`"model":"m","input":[[1,"a"]]`:                                 form,
		`"model":"m","input":[1,"a"]`:                                   form,
		`"model":"m","input":["a",7]`:                                   "input[1] must be a string, got a number\n",
		`"model":"m","input":"a","dimensions":0`:                        "dimensions must be an integer between 1 and 65536, got 0\n",
		`"model":"m","input":"a","dimensions":65537`:                    "dimensions must be an integer between 1 and 65536, got 65537\n",
		`"model":"m","input":"a","encoding_format":"hex"`:               "encoding_format must be float or base64, got \"hex\"\n",
		`"model":"m","input":"a","encoding_format":7`:                   "encoding_format must be float or base64, got 7\n",
		`"model":"m","input":["` + strings.Repeat(`a","`, 2048) + `a"]`: "input must have 1 to 2048 elements, got 2049\n",
		`"model":"m","input":[[1]` + strings.Repeat(",[1]", 2050) + `]`: "input must have 1 to 2048 elements, got 2051\n",
		`"model":"m","input":["a",7],"user":3`:                          "input[1] must be a string, got a number\nuser must be a string, got a number\n",
		`"model":"m","input":[` + strings.Repeat("true,", 30) + `"a"]`:  strings.Join(nthTexts(20), ""),
		// A missing model or a wrong number of inputs is reported only if nothing else is wrong.
		`"input":"a","encoding_format":"hex"`: "encoding_format must be float or base64, got \"hex\"\n",
		`"model":"m","input":[7,"a"]`:         form,
	} {
		if _, got := parseEmbeddings(members); got != want {
			t.Errorf("%.60s: got %s, want %s", members, got, want)
		}
	}
}

// nthTexts returns the problems for n input elements that are not strings.
func nthTexts(n int) (lines []string) {
	for i := range n {
		lines = append(lines, api.At("input", i, " must be a string, got true\n"))
	}
	return lines
}

func TestParseEmbeddings(t *testing.T) {
	for members, want := range map[string]openai.Embeddings{
		`"input":"a\n"`:              {Inputs: []jsontext.Escaped{`a\n`}},
		`"input":["a","b"]`:          {Inputs: []jsontext.Escaped{"a", "b"}},
		`"input":[1,2]`:              {Tokens: []string{"[1,2]"}},
		`"input":[[1,2],[3]]`:        {Tokens: []string{"[1,2]", "[3]"}},
		`"input":"a","user":"u"`:     {Inputs: []jsontext.Escaped{"a"}, User: "u"},
		`"input":"a","dimensions":8`: {Inputs: []jsontext.Escaped{"a"}, Dimensions: 8},
		`"input":"a","dimensions":null,"encoding_format":null`: {Inputs: []jsontext.Escaped{"a"}},
		`"input":"a","encoding_format":"float"`:                {Inputs: []jsontext.Escaped{"a"}},
		`"input":"a","encoding_format":"base64"`:               {Inputs: []jsontext.Escaped{"a"}, Base64: true},
	} {
		want.Model = "m"
		if got, problems := parseEmbeddings(`"model":"m",` + members); problems != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v and problems %q, want %+v", members, got, problems, want)
		}
	}
	most := `"model":"m","input":["` + strings.Repeat(`a","`, 2047) + `a"]`
	if e, problems := parseEmbeddings(most); problems != "" || len(e.Inputs) != 2048 {
		t.Errorf("got %d inputs and problems %q", len(e.Inputs), problems)
	}
	if e, problems := parseEmbeddings(`"model":"m","input":"a","x":1`); problems != "" || len(e.Unknown) != 1 || e.Unknown[0].Name != "x" {
		t.Errorf("got unknown members %v and problems %q", e.Unknown, problems)
	}
	p := api.Parser{Strict: true}
	openai.ParseEmbeddings(&p, gjson.Parse(`{"model":"m","input":"a","x":1}`), false)
	if got := problemLines(p.Details); got != "x is not a parameter of embeddings; omit it\n" {
		t.Errorf("problems in strict mode are %q", got)
	}
}

func TestEmbeddingsPromptTokens(t *testing.T) {
	for want, e := range map[uint64]openai.Embeddings{
		0: {},
		2: {Tokens: []string{"[1,2]"}},              // 5/4 + 1
		5: {Tokens: []string{"[1,2]", "[1,2,3,4]"}}, // the second has 9/4 + 1
	} {
		if got := e.PromptTokens(); got != want {
			t.Errorf("%v has %d tokens, want %d", e.Tokens, got, want)
		}
	}
	one := openai.Embeddings{Inputs: []jsontext.Escaped{"Hello there"}}
	two := openai.Embeddings{Inputs: []jsontext.Escaped{"Hello there", "Hello there"}}
	if n := one.PromptTokens(); n == 0 || two.PromptTokens() != 2*n {
		t.Errorf("one text has %d tokens, two have %d", n, two.PromptTokens())
	}
}

func TestAppendEmbeddings(t *testing.T) {
	for inBase64, vectors := range map[bool][2]string{false: {"[0.5,-2]", "[1e-1]"}, true: {`"AAAAPwAAAMA="`, `"zczMPQ=="`}} {
		want := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":` + vectors[0] + `},{"object":"embedding","index":1,"embedding":` + vectors[1] +
			`}],"model":"a\"b","usage":{"prompt_tokens":7,"total_tokens":7}}`
		if got := string(openai.AppendEmbeddings(nil, []string{"[0.5,-2]", "[1e-1]"}, `a"b`, 7, inBase64)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
