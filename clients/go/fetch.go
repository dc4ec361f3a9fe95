package postern

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// fetch makes a call and decodes its response, a JSON object.
func fetch[T any](ctx context.Context, c *Client, r request, opts []CallOption) (*T, *Response, error) {
	var value T
	response, err := fetchText(ctx, c, r, opts, func(response *Response, text []byte) error {
		return decode(response, text, &value)
	})
	if err != nil {
		return nil, nil, err
	}
	return &value, response, nil
}

// fetchText makes a call. It calls use with the response and the text of its body.
func fetchText(ctx context.Context, c *Client, r request, opts []CallOption, use func(*Response, []byte) error) (*Response, error) {
	call, err := c.newCall(ctx, r, opts)
	if err != nil {
		return nil, err
	}
	var last *Response
	err = call.run(func(response *Response, body *responseBody) error {
		defer body.Close()
		text, err := body.all(response)
		if err != nil {
			return err
		}
		last = response
		return use(response, text)
	})
	return last, err
}

// incomplete is a value that reports its missing fields.
type incomplete interface {
	missing() string // name of a missing required field, or ""
}

// decode parses a JSON object. It ignores fields that value does not have, because the API may grow.
func decode(r *Response, text []byte, value any) error {
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' || json.Unmarshal(text, value) != nil {
		return invalid(r, "the body is not the expected JSON object")
	}
	if v, ok := value.(incomplete); ok && v.missing() != "" {
		return invalid(r, "the body has no "+v.missing())
	}
	return nil
}

func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query}
}

// withBody returns r with value as its JSON body. It does not escape <, > and &, which would only make the body
// longer.
func withBody(r request, value any) (request, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return r, misconfigured("body", "cannot be written as JSON: "+err.Error())
	}
	r.body = bytes.TrimSuffix(text.Bytes(), []byte{'\n'})
	return r, nil
}
