package exchange

import (
	"crypto/sha256"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keys"
)

// Defaults and bounds of POST /api/ai/complete (interface.md, section 4).
const (
	defaultTier        = "balanced"
	defaultTemperature = "0.7"
	defaultMaxTokens   = 1000
	maxMaxTokens       = 10_000_000
	maxDetails         = 20 // problems that one answer names
)

// body takes the request's body: checked, read, and its messages written anew into a buffer of their own.
func (x *exchange) body() {
	s := &x.s
	if s.bodyDone {
		return
	}
	switch x.event.Code {
	case abi.OutcomeTooLarge:
		x.reject(fault.BodyTooLarge)
	case abi.OutcomeOK:
		s.bodyDone = true
		x.parse(x.event.Data)
		if s.bad != 0 && s.idempotency != "" {
			sum := sha256.Sum256(x.event.Data)
			s.bodyHash = keys.Hex(sum[:])
		}
	default:
		s.idempotency = ""
		x.reject(fault.InvalidRequest, fault.Detail{Field: "body", Message: "must arrive whole"})
	}
	x.proceed()
}

func (x *exchange) parse(body []byte) {
	p := requestParser{request: request{tier: defaultTier, temperature: defaultTemperature, maxTokens: defaultMaxTokens}}
	if x.s.badIdempotency {
		p.wrong("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
	}
	p.body(body)
	if len(p.details) > 0 {
		x.reject(fault.InvalidRequest, p.details...)
		return
	}
	x.s.request = p.request
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferMessages, Data: p.messages})
	x.nameRequest(p.messages)
}

// nameRequest makes the cache key. It covers everything that the answer depends on: the request in its
// canonical form and the catalog's version; the project stands in front of the hash.
func (x *exchange) nameRequest(messages []byte) {
	r := &x.s.request
	w := abi.Writer{Buf: make([]byte, 0, 128)}
	w.String(x.config.Version)
	w.Uint(uint64(x.s.route))
	w.String(r.tier)
	w.String(r.temperature)
	w.Uint(r.maxTokens)
	w.Bool(r.json)
	h := sha256.New()
	h.Write(w.Buf)
	h.Write(messages)
	x.s.cacheKey = keys.Hex(h.Sum(make([]byte, 0, sha256.Size)))
	if x.s.idempotency != "" {
		x.s.bodyHash = x.s.cacheKey
	}
}

// requestParser collects the request and everything that is wrong with it.
type requestParser struct {
	request      request
	messages     []byte
	haveMessages bool
	details      []fault.Detail
}

func (p *requestParser) body(body []byte) {
	if problem := jsontext.Check(body); problem != jsontext.OK {
		p.wrong("body", problem.String())
		return
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		p.wrong("body", "must be a JSON object")
		return
	}
	root.ForEach(func(key, value gjson.Result) bool {
		p.field(key.String(), value, len(body))
		return true
	})
	if !p.haveMessages {
		p.wrong("messages", "is required")
	}
}

func (p *requestParser) wrong(field, message string) {
	if len(p.details) < maxDetails {
		p.details = append(p.details, fault.Detail{Field: field, Message: message})
	}
}

// field reads one member of the body. Unknown ones are ignored.
func (p *requestParser) field(name string, v gjson.Result, size int) {
	switch name {
	case "messages":
		p.haveMessages = true
		p.messageList(v, size)
	case "quality":
		p.choice(&p.request.tier, name, v, "cheap", "balanced", "frontier")
	case "mode":
		mode := "text"
		p.choice(&mode, name, v, "text", "json")
		p.request.json = mode == "json"
	case "temperature":
		if v.Type != gjson.Number || !(v.Num >= 0 && v.Num <= 2) {
			p.wrong(name, "must be a number from 0 to 2")
			return
		}
		p.request.temperature = strconv.FormatFloat(v.Num, 'f', -1, 64)
	case "maxTokens":
		if v.Type != gjson.Number || !(v.Num >= 1 && v.Num <= maxMaxTokens) || v.Num != float64(uint64(v.Num)) {
			p.wrong(name, "must be an integer from 1 to 10000000")
			return
		}
		p.request.maxTokens = uint64(v.Num)
	}
}

func (p *requestParser) choice(to *string, name string, v gjson.Result, choices ...string) {
	message := "must be "
	for i, c := range choices {
		if v.Type == gjson.String && v.Str == c {
			*to = c
			return
		}
		switch {
		case i == len(choices)-1:
			message += " or "
		case i > 0:
			message += ", "
		}
		message += c
	}
	p.wrong(name, message)
}

func (p *requestParser) messageList(list gjson.Result, size int) {
	if !list.IsArray() {
		p.wrong("messages", "must be an array")
		return
	}
	p.messages = append(make([]byte, 0, size+64), '[')
	count := 0
	list.ForEach(func(_, v gjson.Result) bool {
		if len(p.details) == maxDetails {
			return false // no more is said, so no more is looked at
		}
		if count > 0 {
			p.messages = append(p.messages, ',')
		}
		p.message(count, v)
		count++
		return true
	})
	p.messages = append(p.messages, ']')
	if count == 0 {
		p.wrong("messages", "must not be empty")
	}
}

// message writes one message anew: its role, and its content as it was spelled, which Check has vouched for.
func (p *requestParser) message(index int, v gjson.Result) {
	if !v.IsObject() {
		p.wrong(messageField(index, ""), "must be an object")
		return
	}
	role, content := "", ""
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.String() {
		case "role":
			role = p.role(index, value)
		case "content":
			content = p.content(index, value)
		}
		return true
	})
	if role == "" {
		p.wrong(messageField(index, ".role"), "is required")
	}
	if content == "" {
		p.wrong(messageField(index, ".content"), "is required")
	}
	p.messages = append(p.messages, `{"role":"`...)
	p.messages = append(p.messages, role...)
	p.messages = append(p.messages, `","content":`...)
	p.messages = append(p.messages, content...)
	p.messages = append(p.messages, '}')
	p.request.promptTokens += EstimateTokens(len(content)) + tokensPerMessage
}

// invalid stands for a field that was there but wrong, so that it is not called missing too.
const invalid = "-"

func (p *requestParser) role(index int, v gjson.Result) string {
	role := invalid
	before := len(p.details)
	p.choice(&role, messageField(index, ".role"), v, "system", "user", "assistant")
	if len(p.details) > before {
		return invalid
	}
	return role
}

func (p *requestParser) content(index int, v gjson.Result) string {
	if v.Type != gjson.String {
		p.wrong(messageField(index, ".content"), "must be a string")
		return invalid
	}
	return v.Raw
}

func messageField(index int, rest string) string {
	return "messages[" + strconv.Itoa(index) + "]" + rest
}

// tokensPerMessage is what a message's frame costs in the common chat formats.
const tokensPerMessage = 4

// EstimateTokens is how many tokens a text of so many bytes is likely to be: four bytes a token is the
// usual figure for English.
func EstimateTokens(bytes int) uint64 { return uint64(bytes+3) / 4 }
