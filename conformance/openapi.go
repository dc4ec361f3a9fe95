package conformance

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/postern-ai/postern/core/sse"
)

// Contract is docs/openapi.yaml, to hold answers against. (OpenAPI 3.1 schemas are JSON Schema 2020-12.)
type Contract struct {
	document map[string]any
	paths    []describedPath
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema // by their place in the document
}

// describedPath is one path of the document.
type describedPath struct {
	segments []string // one in braces stands for any
	methods  map[string]map[string]any
	allow    string // its methods, as the Allow header names them
}

// elsewhere describes, in the document, the answers where no operation is.
const elsewhere = "/x-elsewhere"

// documentURL only names the document inside the schema library; nothing is fetched.
const documentURL = "https://postern.invalid/openapi.json"

// transport are the headers that belong to HTTP, not to us: the document does not name them.
var transport = []string{
	"Cf-Cache-Status", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Transfer-Encoding", "Vary",
}

// NewContract reads the document.
func NewContract(path string) (*Contract, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return nil, err
	}
	root, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("openapi: the document is not an object")
	}
	c := &Contract{document: root, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	c.compiler.AssertFormat()
	for template, item := range object(root["paths"]) {
		c.paths = append(c.paths, describe(template, object(item)))
	}
	return c, c.compiler.AddResource(documentURL, document)
}

func describe(template string, item map[string]any) describedPath {
	p := describedPath{segments: strings.Split(template, "/"), methods: map[string]map[string]any{}}
	var allowed []string
	for name, member := range item {
		if name == "parameters" {
			continue
		}
		method := strings.ToUpper(name)
		allowed = append(allowed, method)
		p.methods[method] = object(object(member)["responses"])
	}
	if p.methods[http.MethodGet] != nil {
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	p.allow = strings.Join(allowed, ", ")
	return p
}

// object is v as an object; of anything else, an empty one.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// Check says what is wrong with an answer: an operation or a status that is not described, a header that is
// missing, not described or of a wrong form, a body that does not fit. A Runner checks every answer with it.
func (c *Contract) Check(request *http.Request, response *http.Response, body []byte) error {
	err := c.check(request, response, body)
	if err == nil {
		return nil
	}
	return fmt.Errorf("docs/openapi.yaml: %s %s: %d: %w", request.Method, request.URL.EscapedPath(), response.StatusCode, err)
}

func (c *Contract) check(request *http.Request, response *http.Response, body []byte) error {
	at, err := c.find(request, response)
	if err != nil {
		return err
	}
	described, at, err := c.at(at)
	if err != nil {
		return err
	}
	if err := c.checkHeaders(object(described["headers"]), at+"/headers", response.Header); err != nil {
		return err
	}
	if request.Method == http.MethodHead {
		return nil // such an answer has no body, whatever it would be
	}
	return c.checkBody(object(described["content"]), at+"/content", response.Header.Get("Content-Type"), body)
}

// find is the place where an answer is described.
func (c *Contract) find(request *http.Request, response *http.Response) (place string, err error) {
	path := c.path(request.URL.EscapedPath())
	status := fmt.Sprint(response.StatusCode)
	if path == nil {
		if response.StatusCode != http.StatusNotFound {
			return "", errors.New("there is no such path, this must be 404")
		}
		return elsewhere + "/" + status, nil
	}
	method := request.Method
	if method == http.MethodHead {
		method = http.MethodGet // which is described
	}
	responses, ok := path.methods[method]
	if ok {
		if responses[status] == nil {
			return "", errors.New("this status is not described")
		}
		return pointer("paths", strings.Join(path.segments, "/"), strings.ToLower(method), "responses", status), nil
	}
	switch response.StatusCode {
	case http.StatusMethodNotAllowed:
		if allow := response.Header.Get("Allow"); allow != path.allow {
			return "", fmt.Errorf("allow is %q, the path has %q", allow, path.allow)
		}
	case http.StatusNotFound: // an id that is none, or the admin API is turned off
	default:
		return "", errors.New("there is no such operation, this must be 405")
	}
	return elsewhere + "/" + status, nil
}

// path finds the path that a request's path, as sent, fits; nil if none does.
func (c *Contract) path(sent string) *describedPath {
	have := strings.Split(sent, "/")
	for i := range c.paths {
		if slices.EqualFunc(c.paths[i].segments, have, fits) {
			return &c.paths[i]
		}
	}
	return nil
}

func fits(want, have string) bool {
	return want == have || strings.HasPrefix(want, "{") && have != ""
}

// pointer makes a JSON pointer (RFC 6901).
func pointer(segments ...string) string {
	var text string
	for _, s := range segments {
		text += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return text
}

// at is the object at a place, and, if a reference stands there, what that leads to, with its own place.
func (c *Contract) at(place string) (map[string]any, string, error) {
	var here any = c.document
	for segment := range strings.SplitSeq(place[1:], "/") {
		here = object(here)[strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)]
	}
	found, ok := here.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("nothing is described at #%s", place)
	}
	if reference, ok := found["$ref"].(string); ok {
		return c.at(strings.TrimPrefix(reference, "#"))
	}
	return found, place, nil
}

func (c *Contract) checkHeaders(described map[string]any, at string, have http.Header) error {
	known := slices.Clone(transport)
	for name := range described {
		known = append(known, http.CanonicalHeaderKey(name))
		header, place, err := c.at(at + pointer(name))
		if err != nil {
			return err
		}
		values := have.Values(name)
		switch {
		case len(values) == 0 && header["required"] == true:
			return fmt.Errorf("header %s is missing", name)
		case len(values) == 0:
		default:
			if err := c.validateText(place+"/schema", strings.Join(values, ", ")); err != nil {
				return fmt.Errorf("header %s is %q: %w", name, values, err)
			}
		}
	}
	for name := range have {
		if !slices.Contains(known, name) {
			return fmt.Errorf("header %s is not described", strings.ToLower(name))
		}
	}
	return nil
}

func (c *Contract) checkBody(described map[string]any, at, contentType string, body []byte) error {
	if len(described) == 0 {
		if len(body) > 0 || contentType != "" {
			return fmt.Errorf("there must be no body, but there is %q of type %q", body, contentType)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || described[media] == nil {
		return fmt.Errorf("the type %q is not described", contentType)
	}
	switch media {
	case "text/event-stream":
		return checkEvents(body)
	case "text/html", "application/yaml":
		return c.validate(at+pointer(media, "schema"), string(body))
	case "text/csv":
		return c.checkTable(at+pointer(media, "schema"), body)
	case "application/x-ndjson":
		return c.checkLines(at+pointer(media, "x-line"), body)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w: %.600q", err, body)
	}
	if err := c.validate(at+pointer(media, "schema"), value); err != nil {
		return fmt.Errorf("body %.600s: %w", body, err)
	}
	return nil
}

// checkTable: rows of equal length under a head, and a text that fits (RFC 4180).
func (c *Contract) checkTable(place string, body []byte) error {
	if _, err := csv.NewReader(bytes.NewReader(body)).ReadAll(); err != nil {
		return fmt.Errorf("the body is not CSV: %w", err)
	}
	return c.validate(place, string(body))
}

// checkLines: each line is JSON that fits, and has an end.
func (c *Contract) checkLines(place string, body []byte) error {
	lines := strings.SplitAfter(string(body), "\n")
	if rest := lines[len(lines)-1]; rest != "" {
		return fmt.Errorf("the last line has no end: %.600q", rest)
	}
	for _, line := range lines[:len(lines)-1] {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			return fmt.Errorf("a line is not JSON: %w: %.600q", err, line)
		}
		if err := c.validate(place, value); err != nil {
			return fmt.Errorf("line %.600s: %w", line, err)
		}
	}
	return nil
}

// checkEvents: a stream is nothing but comments and events, whose data is JSON or the end mark; and every
// stream that was not left has an end of some kind, which scenarios look at.
func checkEvents(body []byte) error {
	var p sse.Parser
	events, ok := p.Feed(body, true)
	if !ok || len(p.Rest) > 0 {
		return fmt.Errorf("the stream breaks off within an event: %.600q", p.Rest)
	}
	for _, e := range events {
		if string(e.Data) != "[DONE]" && !json.Valid(e.Data) {
			return fmt.Errorf("the data of an event is not JSON: %.600q", e.Data)
		}
	}
	return nil
}

// validateText holds a header's text against a schema: as a number or true or false, if the schema is for
// one and the text is one.
func (c *Contract) validateText(place, text string) error {
	schema, _, err := c.at(place)
	if err != nil {
		return err
	}
	var value any = text
	if kind, _ := schema["type"].(string); kind != "string" && json.Valid([]byte(text)) {
		value, _ = jsonschema.UnmarshalJSON(strings.NewReader(text))
	}
	return c.validate(place, value)
}

func (c *Contract) validate(place string, value any) error {
	schema, err := c.schema(place)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// schema compiles a schema once.
func (c *Contract) schema(place string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema, ok := c.schemas[place]; ok {
		return schema, nil
	}
	schema, err := c.compiler.Compile(documentURL + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(place))
	if err == nil {
		c.schemas[place] = schema
	}
	return schema, err
}
