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
	// refuse validates a request as the provider does: first the credentials, then the body. It returns nil for a
	// valid request.
	refuse func(q *request) *refusal
	prompt func(q *request) prompt
	whole  func(a *answer) raw
	events func(a *answer) []event
	// otherOps are the operations other than chat, by name: embed, count, moderate.
	otherOps map[string]func(q *request, b *Behavior) raw
	// failure returns the body of an error and its headers.
	failure func(f *refusal) (raw, map[string]string)
	// streamError returns the events of a failure within a stream.
	streamError func() []event
}

type request struct {
	r         *http.Request
	body      []byte
	root      gjson.Result // its Exists is false if the body is not JSON
	wire      *wire        // nil: no family has this path
	op        string       // chat, embed, count or moderate
	model     string       // from the path, if the family has the model there
	method    string       // the end of Gemini's and Bedrock's paths
	awsSecret string
}

type refusal struct {
	status  int
	kind    string // the family's error type; empty: the default for the status
	code    string
	param   string
	message string
	detail  raw // Mistral's list of invalid fields
}

func bad(message string) *refusal { return &refusal{status: 400, message: message} }

func newRequest(r *http.Request, body []byte, awsSecret string) *request {
	q := &request{r: r, body: body, awsSecret: awsSecret, op: "chat"}
	if gjson.ValidBytes(body) {
		q.root = gjson.ParseBytes(body)
	}
	q.recognize(r.URL.EscapedPath())
	return q
}

// recognize sets the family and operation based on the path.
func (q *request) recognize(path string) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		q.wire = chatWire(path)
	case strings.HasSuffix(path, "/completions"):
		q.wire = completionsWire
	case strings.HasSuffix(path, "/embeddings"):
		q.wire, q.op = chatWire(path), "embed"
	case strings.HasSuffix(path, "/moderations"):
		q.wire, q.op = moderationWire, "moderate"
	case strings.HasSuffix(path, "/responses"):
		q.wire = responsesWire
	case strings.HasSuffix(path, "/responses/compact"):
		q.wire, q.op = responsesWire, "compact"
	case strings.HasSuffix(path, "/responses/input_tokens"):
		q.wire, q.op = responsesWire, "count"
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

// google parses …/models/X:method.
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

// amazon parses …/model/X/method. X can be an ARN with escaped slashes.
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

func (q *request) refuse() *refusal {
	switch {
	case q.wire == nil:
		return &refusal{status: 404, message: "No route for " + q.r.URL.Path + "."}
	case q.r.Method != http.MethodPost:
		return &refusal{status: 405, message: "Method not allowed: use POST."}
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

func (q *request) whole(a *answer, b *Behavior) raw {
	if q.op != "chat" {
		return q.wire.otherOps[q.op](q, b)
	}
	answer := q.wire.whole(a)
	if q.method == "streamGenerateContent" && q.r.URL.Query().Get("alt") != "sse" {
		return array(answer) // Gemini streams one JSON array unless the query has alt=sse
	}
	return answer
}

// idHeader returns the family's header for the request ID.
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

// unknown returns the first field of an object that a space-separated list of names does not contain, or "".
func unknown(v gjson.Result, known string) (found string) {
	v.ForEach(func(key, _ gjson.Result) bool {
		if !strings.Contains(" "+known+" ", " "+key.Str+" ") {
			found = key.Str
		}
		return found == ""
	})
	return found
}
