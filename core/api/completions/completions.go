// Package completions implements OpenAI's legacy completions API for callers: POST /v1/completions, which continues
// text. It is a second format of OpenAI's dialect. Errors and the ends of streams are the same as in chat
// completions. Source: OpenAI's API reference, "Create completion" and "The completion object"
// (platform.openai.com/docs/api-reference/completions).
package completions

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Family returns the completions family.
func Family() api.Family {
	f := openai.Family()
	f.Parse, f.Answer, f.Stream, f.End = Parse, Answer, Stream, End
	return f
}

const (
	defaultTokens  = 16  // the max_tokens of a request that sets none
	maxCompletions = 128 // the maximum number of completions in a request: best_of, or else n, for each prompt
	maxBestOf      = 20
	maxLogProbs    = 5
)

// passed lists the fields that are forwarded unchanged. They do not affect the price. Some of them belong to vLLM and
// similar servers. Source: vLLM's "OpenAI-Compatible Server", "Completions API".
const passed = " temperature top_p frequency_penalty presence_penalty seed stop logit_bias user top_k min_p repetition_penalty " +
	"min_tokens ignore_eos stop_token_ids skip_special_tokens "

type request struct {
	*api.Parser
	out       api.Parsed
	prompts   uint64
	suffix    uint64 // the suffix's tokens, which are added to each prompt
	n, bestOf uint64
	echo      bool
}

// Parse reads a body. Request has a message for each prompt. N is the number of completions to reserve. It counts all
// generated completions. If the prompts are echoed, N is higher, because some providers count them as output. Source:
// HELM counts the prompt twice for OpenAI (github.com/stanford-crfm/helm/pull/127).
func Parse(p *api.Parser, root gjson.Result) api.Parsed {
	r := request{Parser: p}
	r.out.Request = chat.Request{Dialect: chat.OpenAI, MaxTokens: defaultTokens}
	r.out.Members = make([]byte, 0, len(root.Raw))
	root.ForEach(func(key, v gjson.Result) bool {
		if r.member(key.String(), v) {
			r.out.Members = api.AppendMember(r.out.Members, key, v)
		}
		return true
	})
	if r.out.Request.Model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if r.prompts == 0 && len(p.Details) == 0 {
		p.Wrong("prompt", "is required")
	}
	r.bound()
	return r.out
}

// member reads a field. It reports whether the field is forwarded unchanged.
func (r *request) member(name string, v gjson.Result) bool {
	q := &r.out.Request
	switch name {
	case "model":
		q.Model = r.Model(v)
		return false
	case "stream":
		q.Stream = r.Bool(name, v) == "true"
		return false
	case "stream_options":
		q.IncludeUsage = jsonvalue.Get(v.Raw, "include_usage").Bool()
		return false
	case "max_tokens", "n", "best_of", "logprobs":
		return r.integer(name, v)
	case "prompt":
		r.prompt(v)
	case "suffix":
		if v.Type == gjson.String {
			r.suffix = chat.PartTokens([]chat.Part{{Kind: chat.Text, Text: jsontext.Inside(v.Raw)}})
		}
	case "echo":
		r.echo = r.Bool(name, v) == "true"
	default:
		if !strings.Contains(passed, " "+name+" ") {
			r.out.Unknown = r.Ignore(r.out.Unknown, name, "is not a parameter of completions; omit it")
			return false
		}
	}
	return true
}

func (r *request) integer(name string, v gjson.Result) bool {
	least, most, field := uint64(1), uint64(maxCompletions), &r.n
	switch name {
	case "max_tokens":
		most, field = api.MaxTokens, &r.out.Request.MaxTokens
	case "best_of":
		most, field = maxBestOf, &r.bestOf
	case "logprobs":
		least, most, field = 0, maxLogProbs, new(uint64)
	}
	if n := r.Integer(name, v, least, most); n > 0 {
		*field = n
	}
	return name != "max_tokens"
}

// prompt reads a string, a list of strings, a list of token numbers, or a list of such lists.
func (r *request) prompt(v gjson.Result) {
	if !v.IsArray() || jsonvalue.Get(v.Raw, "0").Type == gjson.Number {
		r.one("prompt", v)
		return
	}
	v.ForEach(func(_, item gjson.Result) bool {
		r.one(api.At("prompt", int(r.prompts), ""), item)
		return !r.Full() && r.prompts <= maxCompletions
	})
}

func (r *request) one(field string, v gjson.Result) {
	text := jsontext.Escaped("")
	switch {
	case v.Type == gjson.String:
		text = jsontext.Inside(v.Raw)
	case v.IsArray():
		v.ForEach(func(_, token gjson.Result) bool {
			if token.Type != gjson.Number {
				r.WrongType(field, "a list of token numbers", token)
			}
			r.out.PromptTokens++
			return token.Type == gjson.Number
		})
		if !r.Skim {
			text = jsontext.Escape(v.Raw)
		}
	default:
		r.WrongType(field, "a string or a list of token numbers", v)
	}
	parts := []chat.Part{{Kind: chat.Text, Text: text}}
	if r.prompts++; v.Type == gjson.String {
		r.out.PromptTokens += max(1, chat.PartTokens(parts))
	}
	if !r.Skim {
		r.out.Request.Messages = append(r.out.Request.Messages, chat.Message{Role: chat.User, Parts: parts})
	}
}

// bound limits the number of completions and sets Request.N.
func (r *request) bound() {
	q, n := &r.out.Request, max(r.n, 1)
	if r.bestOf > 0 && r.bestOf < n {
		r.Wrong("best_of", "must be at least n, which is "+strconv.FormatUint(n, 10))
	}
	if r.bestOf > 1 && q.Stream {
		r.Wrong("best_of", "must be 1 for a stream")
	}
	q.N = max(n, r.bestOf) * r.prompts
	if q.N > maxCompletions {
		r.Wrong("prompt", "must ask for at most 128 completions with n and best_of, got "+strconv.FormatUint(q.N, 10))
	}
	if r.echo {
		q.N += (2*r.out.PromptTokens*n + q.MaxTokens - 1) / q.MaxTokens
	}
	r.out.PromptTokens += r.suffix * r.prompts
}

// Repeats returns how many completions of each prompt a valid body asks for. It also reports whether they begin with
// the prompt.
func Repeats(root gjson.Result) (n uint64, echo bool) {
	return max(1, jsonvalue.Get(root.Raw, "n").Uint()), jsonvalue.Get(root.Raw, "echo").Bool()
}

// Answer appends a completion object.
func Answer(dst []byte, r *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	b.B = append(b.B, '{')
	head(&b, m)
	for i := range r.Choices {
		a := &r.Choices[i]
		choice(&b, uint64(i), chat.Join(a.Parts, chat.Text), max(a.Finish, chat.FinishStop))
	}
	b.Close(']')
	usage(&b, m)
	b.Close('}')
	return b.B
}

// Stream appends a completion object for a text delta or for the end of a choice.
func Stream(dst []byte, _ *api.State, d *chat.Delta, m *api.Meta) []byte {
	if d.Kind != chat.DeltaText && d.Kind != chat.DeltaFinish {
		return dst
	}
	text := d.Text
	if d.Kind == chat.DeltaFinish {
		text = "" // the stop sequence
	}
	b := jsontext.Builder{B: append(dst, "data: {"...)}
	head(&b, m)
	choice(&b, d.Choice, text, d.Finish)
	return append(b.B, "]}\n\n"...)
}

// End appends the usage if the request asked for it, and the end mark "data: [DONE]".
func End(dst []byte, _ *api.State, _ *chat.Response, m *api.Meta) []byte {
	if m.IncludeUsage {
		b := jsontext.Builder{B: append(dst, "data: {"...)}
		head(&b, m)
		b.Close(']')
		usage(&b, m)
		dst = append(b.B, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

//go:noinline
func head(b *jsontext.Builder, m *api.Meta) {
	b.Key("id")
	b.String("cmpl-" + m.RequestID)
	b.Member("object", `"text_completion"`)
	b.Key("created")
	b.Uint(m.CreatedMs / 1000)
	b.Key("model")
	b.String(m.Model)
	b.Key("choices")
	b.Open('[')
}

//go:noinline
func choice(b *jsontext.Builder, index uint64, text jsontext.Escaped, finish chat.Finish) {
	b.Open('{')
	b.Key("text")
	b.Text(text)
	b.Key("index")
	b.Uint(index)
	b.Member("logprobs", "null")
	reason := `"stop"`
	switch finish {
	case chat.FinishNone:
		reason = "null"
	case chat.FinishLength:
		reason = `"length"`
	case chat.FinishFilter:
		reason = `"content_filter"`
	}
	b.Member("finish_reason", reason)
	b.Close('}')
}

//go:noinline
func usage(b *jsontext.Builder, m *api.Meta) {
	b.Key("usage")
	b.Open('{')
	b.Key("prompt_tokens")
	b.Uint(m.Usage.Input)
	b.Key("completion_tokens")
	b.Uint(m.Usage.Output)
	b.Key("total_tokens")
	b.Uint(m.Usage.Total())
	b.Close('}')
}
