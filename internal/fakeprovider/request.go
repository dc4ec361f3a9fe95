package fakeprovider

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"
)

// wire is one family's format.
type wire struct {
	family  string
	framing framing
	// refuse checks a request as the provider does: credentials first, then the body. Nil: it is good.
	refuse func(q *request) *refusal
	prompt func(q *request) prompt
	whole  func(a *answer) raw
	events func(a *answer) []event
	// others are the operations besides chat, by name: embed, count.
	others map[string]func(q *request, b *Behaviour) raw
	// failure is the body of an error, and headers that go with it.
	failure func(f *refusal) (raw, map[string]string)
	// broke is the family's word within a stream that it failed.
	broke func() []event
}

// request is a request whose family is known.
type request struct {
	r         *http.Request
	body      []byte
	root      gjson.Result // does not exist if the body is no JSON
	wire      *wire        // nil: no family has that path
	op        string       // chat, embed or count
	model     string       // from the path, where the family has it there
	method    string       // Gemini's and Bedrock's last word of the path
	awsSecret string
}

// refusal is why a request is not answered.
type refusal struct {
	status  int
	kind    string // the family's word; empty: the usual one of the status
	code    string
	param   string
	message string
	detail  raw // Mistral's list
}

func bad(message string) *refusal { return &refusal{status: 400, message: message} }

func newRequest(r *http.Request, body []byte, awsSecret string) *request {
	q := &request{r: r, body: body, awsSecret: awsSecret, op: "chat"}
	if gjson.ValidBytes(body) {
		q.root = gjson.ParseBytes(body)
	}
	q.recognise(r.URL.EscapedPath())
	return q
}

// recognise tells the family by the path.
func (q *request) recognise(path string) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		q.wire = chatWire(path)
	case strings.HasSuffix(path, "/embeddings"):
		q.wire, q.op = chatWire(path), "embed"
	case strings.HasSuffix(path, "/responses"):
		q.wire = responsesWire
	case strings.HasSuffix(path, "/messages"):
		q.wire = anthropicWire
	case strings.HasSuffix(path, "/messages/count_tokens"):
		q.wire, q.op = anthropicWire, "count"
	case strings.Contains(path, "/models/") && strings.Contains(path, ":"):
		q.google(path)
	case strings.Contains(path, "/model/"):
		q.amazon(path)
	case strings.HasSuffix(path, "/chat"):
		q.wire = cohereWire
	case strings.HasSuffix(path, "/embed"):
		q.wire, q.op = cohereWire, "embed"
	}
}

// google takes …/models/X:method apart.
func (q *request) google(path string) {
	name := path[strings.LastIndex(path, "/models/")+len("/models/"):]
	at := strings.LastIndex(name, ":")
	if at < 0 {
		return
	}
	q.model, _ = url.PathUnescape(name[:at])
	q.method = name[at+1:]
	switch q.method {
	case "generateContent", "streamGenerateContent":
		q.wire = geminiWire
	case "embedContent", "batchEmbedContents":
		q.wire, q.op = geminiWire, "embed"
	case "countTokens":
		q.wire, q.op = geminiWire, "count"
	}
}

// amazon takes …/model/X/method apart; X may be an ARN with escaped slashes.
func (q *request) amazon(path string) {
	name := path[strings.LastIndex(path, "/model/")+len("/model/"):]
	at := strings.LastIndex(name, "/")
	if at < 0 {
		return
	}
	q.model, _ = url.PathUnescape(name[:at])
	q.method = name[at+1:]
	switch q.method {
	case "converse", "converse-stream":
		q.wire = bedrockWire
	case "invoke":
		q.wire, q.op = bedrockWire, "embed"
	}
}

func (q *request) family() string {
	if q.wire == nil {
		return ""
	}
	return q.wire.family
}

// refuse checks the request.
func (q *request) refuse() *refusal {
	switch {
	case q.wire == nil:
		return &refusal{status: 404, message: "There is nothing at " + q.r.URL.Path + "."}
	case q.r.Method != http.MethodPost:
		return &refusal{status: 405, message: "Not a POST."}
	}
	return q.wire.refuse(q)
}

func (q *request) failure(f *refusal) (raw, map[string]string) {
	if q.wire == nil {
		return object("error", f.message), nil
	}
	return q.wire.failure(f)
}

func (q *request) prompt() prompt {
	if q.wire == nil || q.op != "chat" {
		return prompt{}
	}
	return q.wire.prompt(q)
}

// whole is the good whole answer.
func (q *request) whole(p *prompt, b *Behaviour) raw {
	if q.op != "chat" {
		return q.wire.others[q.op](q, b)
	}
	answer := q.wire.whole(respond(p, b))
	if q.method == "streamGenerateContent" && q.r.URL.Query().Get("alt") != "sse" {
		return array(answer) // Gemini's streams are one JSON array unless they are asked for as events
	}
	return answer
}

// idHeader is where the family names the request.
func (q *request) idHeader() string {
	switch q.family() {
	case "anthropic":
		return "Request-Id"
	case "bedrock":
		return "X-Amzn-Requestid"
	}
	return "X-Request-Id"
}

func (q *request) bearer() bool {
	return len(q.r.Header.Get("Authorization")) > len("Bearer ") && strings.HasPrefix(q.r.Header.Get("Authorization"), "Bearer ")
}

// unknown is the first member of an object that is not in a list of names with spaces between; empty if none.
func unknown(v gjson.Result, known string) (found string) {
	v.ForEach(func(key, _ gjson.Result) bool {
		if !strings.Contains(" "+known+" ", " "+key.Str+" ") {
			found = key.Str
		}
		return found == ""
	})
	return found
}
