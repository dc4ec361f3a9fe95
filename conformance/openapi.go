package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contract is docs/openapi.yaml, to hold answers against. (OpenAPI 3.1 schemas are JSON Schema 2020-12.)
type Contract struct {
	document map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema
}

const documentURL = "https://postern.invalid/openapi.json"

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
	object, ok := document.(map[string]any)
	if !ok {
		return nil, errors.New("openapi: not an object")
	}
	c := &Contract{document: object, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	c.compiler.DefaultDraft(jsonschema.Draft2020)
	return c, c.compiler.AddResource(documentURL, document)
}

// Check says what is wrong with an answer: an operation or a status that is not described, a header that is
// missing or does not fit, a body that does not.
func (c *Contract) Check(request *http.Request, response *http.Response, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := c.describe(request, response.StatusCode)
	if !found {
		return fmt.Errorf("openapi: %s %s: %d is not described", request.Method, request.URL.Path, response.StatusCode)
	}
	description, pointer := c.resolve(at)
	if err := c.checkHeaders(description, pointer, response.Header); err != nil {
		return fmt.Errorf("openapi: %s %s: %d: %w", request.Method, request.URL.Path, response.StatusCode, err)
	}
	content, _ := description["content"].(map[string]any)
	if _, described := content["application/json"]; !described {
		if len(body) > 0 {
			return fmt.Errorf("openapi: %s %s: %d has a body", request.Method, request.URL.Path, response.StatusCode)
		}
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err == nil {
		err = c.validate(pointer+"/content/application~1json/schema", value)
	}
	if err != nil {
		return fmt.Errorf("openapi: %s %s: %d %s: %w", request.Method, request.URL.Path, response.StatusCode, body, err)
	}
	return nil
}

// describe finds the response's place in the document. What no path fits is a 404, what no method fits a 405.
func (c *Contract) describe(request *http.Request, status int) (pointer string, found bool) {
	paths := c.document["paths"].(map[string]any)
	for template, item := range paths {
		if !fits(template, request.URL.EscapedPath()) {
			continue
		}
		operation, ok := item.(map[string]any)[strings.ToLower(request.Method)].(map[string]any)
		if !ok {
			return "/components/responses/MethodNotAllowed", status == http.StatusMethodNotAllowed
		}
		responses := operation["responses"].(map[string]any)
		_, ok = responses[strconv.Itoa(status)]
		if !ok && status == http.StatusNotFound && strings.HasPrefix(template, "/api/admin") {
			return "/components/responses/Error", true // the admin API is turned off
		}
		return "/paths/" + escape(template) + "/" + strings.ToLower(request.Method) + "/responses/" + strconv.Itoa(status), ok
	}
	if status == http.StatusUnauthorized && strings.HasPrefix(request.URL.Path, "/api/admin") {
		return "/components/responses/Unauthorized", true // without the token nobody learns what is there
	}
	return "/components/responses/Error", status == http.StatusNotFound || status == http.StatusServiceUnavailable
}

func fits(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != have[i] && (!strings.HasPrefix(want[i], "{") || have[i] == "") {
			return false
		}
	}
	return true
}

func escape(segment string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(segment)
}

// resolve follows references.
func (c *Contract) resolve(pointer string) (map[string]any, string) {
	var node any = c.document
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		node = node.(map[string]any)[strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)]
	}
	object := node.(map[string]any)
	if reference, ok := object["$ref"].(string); ok {
		return c.resolve(strings.TrimPrefix(reference, "#"))
	}
	return object, pointer
}

func (c *Contract) checkHeaders(description map[string]any, pointer string, got http.Header) error {
	headers, _ := description["headers"].(map[string]any)
	for name := range headers {
		header, at := c.resolve(pointer + "/headers/" + escape(name))
		values := got.Values(name)
		if len(values) == 0 {
			if required, _ := header["required"].(bool); required {
				return fmt.Errorf("header %s is missing", name)
			}
			continue
		}
		if err := c.validate(at+"/schema", strings.Join(values, ", ")); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

func (c *Contract) validate(pointer string, value any) error {
	schema := c.schemas[pointer]
	if schema == nil {
		compiled, err := c.compiler.Compile(documentURL + "#" + pointer)
		if err != nil {
			return err
		}
		c.schemas[pointer], schema = compiled, compiled
	}
	return schema.Validate(value)
}
