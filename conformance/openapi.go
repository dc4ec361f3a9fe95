package conformance

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// Contract checks responses against docs/openapi.yaml. (OpenAPI 3.1 schemas are JSON Schema 2020-12.)
type Contract struct {
	document map[string]any
	paths    []describedPath
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema // by JSON pointer
}

// describedPath is one path of the document.
type describedPath struct {
	segments []string // a segment in braces matches any segment
	methods  map[string]map[string]any
	allow    string // the expected Allow header
}

// elsewhere is the document's extension that describes responses without an operation.
const elsewhere = "/x-elsewhere"

// documentURL names the document inside the schema library. It is never fetched.
const documentURL = "https://postern.invalid/openapi.json"

// transport lists the headers of HTTP itself, which the document does not describe.
var transport = []string{
	"Cf-Cache-Status", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Transfer-Encoding", "Vary",
}

// NewContract reads the document at path.
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
	paths := object(root["paths"])
	for _, template := range slices.Sorted(maps.Keys(paths)) { // "{" sorts last, so a parameter matches only if no fixed segment does
		c.paths = append(c.paths, describe(template, object(paths[template])))
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

// object returns v as an object, or an empty object if it has another type.
func object(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
}

// Check returns an error if a response violates the document. Violations are an undescribed operation, status or
// header, a missing or malformed header, or an invalid body. A Runner checks every response with it.
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
		return nil // responses to HEAD have no body
	}
	return c.checkBody(object(described["content"]), at+"/content", response.Header.Get("Content-Type"), body)
}

// find returns the JSON pointer to a response's description.
func (c *Contract) find(request *http.Request, response *http.Response) (place string, err error) {
	path := c.path(request.URL.EscapedPath())
	status := fmt.Sprint(response.StatusCode)
	if path == nil {
		if response.StatusCode != http.StatusNotFound {
			return "", errors.New("unknown path, the status must be 404")
		}
		return elsewhere + "/" + status, nil
	}
	method := request.Method
	if method == http.MethodHead {
		method = http.MethodGet // the document describes only GET
	}
	responses, ok := path.methods[method]
	if ok {
		if responses[status] == nil {
			return "", errors.New("the status is not described")
		}
		return pointer("paths", strings.Join(path.segments, "/"), strings.ToLower(method), "responses", status), nil
	}
	switch response.StatusCode {
	case http.StatusMethodNotAllowed:
		if allow := response.Header.Get("Allow"); allow != path.allow {
			return "", fmt.Errorf("allow is %q, the path has %q", allow, path.allow)
		}
	case http.StatusNotFound: // an unknown ID, or the admin API is turned off
	case http.StatusUpgradeRequired:
	default:
		return "", errors.New("unknown operation, the status must be 405 or 426")
	}
	return elsewhere + "/" + status, nil
}

// path returns the described path that matches a request's escaped path, or nil.
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

// pointer joins segments into a JSON pointer (RFC 6901).
func pointer(segments ...string) string {
	var text string
	for _, s := range segments {
		text += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return text
}

// at follows references and returns the object at a JSON pointer, with the pointer at which it was found.
func (c *Contract) at(place string) (map[string]any, string, error) {
	var here any = c.document
	for segment := range strings.SplitSeq(place[1:], "/") {
		here = object(here)[strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)]
	}
	found, ok := here.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("no object at #%s", place)
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
			return fmt.Errorf("unexpected body %q of type %q", body, contentType)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || described[media] == nil {
		return fmt.Errorf("content type %q is not described", contentType)
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

// checkTable checks CSV (RFC 4180). Rows must have equal lengths, and the text must match its schema.
func (c *Contract) checkTable(place string, body []byte) error {
	if _, err := csv.NewReader(bytes.NewReader(body)).ReadAll(); err != nil {
		return fmt.Errorf("the body is not CSV: %w", err)
	}
	return c.validate(place, string(body))
}

// checkLines checks NDJSON: each line is valid against the schema and ends with a newline.
func (c *Contract) checkLines(place string, body []byte) error {
	lines := strings.SplitAfter(string(body), "\n")
	if rest := lines[len(lines)-1]; rest != "" {
		return fmt.Errorf("the last line has no newline: %.600q", rest)
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

// checkEvents checks that a stream contains only comments and complete events whose data is JSON or the end marker.
// Scenarios check the stream's end.
func checkEvents(body []byte) error {
	var p sse.Parser
	events, ok := p.Feed(body, true)
	if !ok || len(p.Rest) > 0 {
		return fmt.Errorf("the stream ends within an event: %.600q", p.Rest)
	}
	for _, e := range events {
		if string(e.Data) != "[DONE]" && !json.Valid(e.Data) {
			return fmt.Errorf("the data of an event is not JSON: %.600q", e.Data)
		}
	}
	return nil
}

// validateText checks a header's value against a schema. If the schema is not for a string and the text is JSON, it
// checks the JSON value.
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

// schema returns the compiled schema at a JSON pointer, and caches it.
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
