package kernel

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// MaxBody is the usual maximum size of a request body in bytes.
const MaxBody = 64 << 10

// MaxUnknown is the maximum number of unknown fields or parameters that a 400 lists.
const MaxUnknown = 20

// Fields reads the request body, which must be one JSON object no larger than the route allows. The error is a 415,
// 413 or 400.
func (c *Call) Fields() (*Fields, error) {
	if err := checkBodyHead(c.Request.Header); err != nil {
		return nil, err
	}
	body, err := readBody(c.Request.Body, c.maxBody)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, Invalid(fault.Detail{Field: "body", Message: "is required"})
	}
	if problem := jsontext.Check(body); problem != jsontext.OK {
		return nil, Invalid(fault.Detail{Field: "body", Message: problem.String()})
	}
	values, err := DecodeObject(body)
	if err != nil {
		return nil, Invalid(fault.Detail{Field: "body", Message: "must be a JSON object, got " + KindOf(body)})
	}
	return &Fields{Values: values}, nil
}

// checkBodyHead checks the headers that describe a body.
func checkBodyHead(header http.Header) error {
	contentType := HeaderValue(header, "Content-Type")
	if contentType == "" {
		return Refuse(fault.UnsupportedType, "Content-Type", "is required; send application/json")
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
		return Refuse(fault.UnsupportedType, "Content-Type", "must be application/json"+Got(contentType))
	}
	if encoding := HeaderValue(header, "Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return Refuse(fault.UnsupportedType, "Content-Encoding", "must be identity"+Got(encoding)+"; send the body uncompressed")
	}
	return nil
}

func readBody(body io.Reader, maximum int) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(body, int64(maximum)+1))
	if err != nil {
		return nil, Invalid(fault.Detail{Field: "body", Message: "could not be read completely; send the request again"})
	}
	if len(data) > maximum {
		return nil, tooLarge(maximum)
	}
	return data, nil
}

// DecodeObject splits a checked JSON object into its fields without decoding their values. Names are case-sensitive.
// By contrast, encoding/json accepts "Name" for "name" when it decodes into a struct.
func DecodeObject(body []byte) (values map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(body, &values); err == nil && values == nil {
		err = errors.New("null")
	}
	return values, err
}

// Fields are the values of a body. The getters remove the fields that they read and collect problems. Err reports all
// problems at once.
type Fields struct {
	Values   map[string]json.RawMessage
	known    []string // the fields that the getters have read, present or not
	Problems []fault.Detail
}

// Problem records a problem with a field.
func (f *Fields) Problem(field, message string) {
	f.Problems = append(f.Problems, fault.Detail{Field: field, Message: message})
}

// Has reports whether a field is present that no getter has read yet.
func (f *Fields) Has(field string) bool {
	_, ok := f.Values[field]
	return ok
}

// Take removes and returns a field's value. ok is false if the field is absent.
func (f *Fields) Take(field string) (value json.RawMessage, ok bool) {
	value, ok = f.Values[field]
	delete(f.Values, field)
	f.known = append(f.known, field)
	return value, ok
}

// Fixed adds a problem if a field that this request cannot set is present.
func (f *Fields) Fixed(field, reason string) {
	if _, ok := f.Values[field]; ok {
		delete(f.Values, field)
		f.Problem(field, reason)
	}
}

// Text takes a JSON string. The message does not repeat a value of another type, which may be a secret.
func (f *Fields) Text(field, fallback string) (text string, given bool) {
	value, given := f.Take(field)
	if !given {
		return fallback, false
	}
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		f.Problem(field, "must be a string, got "+KindOf(value))
		return fallback, false
	}
	return text, true
}

// number takes a JSON number and returns the digits as sent. expectation is the beginning of the message for a value
// of another type.
func (f *Fields) number(field, expectation string) (digits string, given bool) {
	value, given := f.Take(field)
	if !given {
		return "", false
	}
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		f.Problem(field, expectation+gotJSON(value))
		return "", false
	}
	return string(value), true
}

// Boolean takes true or false.
func (f *Fields) Boolean(field string) (value, given bool) {
	word, given := f.Take(field)
	if !given {
		return false, false
	}
	value = string(word) == "true"
	if !value && string(word) != "false" {
		f.Problem(field, "must be true or false"+gotJSON(word))
		return false, false
	}
	return value, true
}

// Err returns a 400 with all problems, including unknown fields, or nil.
func (f *Fields) Err() error {
	f.RejectRest("is unknown; the fields are " + AllOf(f.known))
	if len(f.Problems) == 0 {
		return nil
	}
	return Invalid(f.Problems...)
}

// RejectRest adds a problem for the fields that no getter has read.
func (f *Fields) RejectRest(message string) {
	for i, field := range slices.Sorted(maps.Keys(f.Values)) {
		if i == MaxUnknown {
			break
		}
		f.Problem(nameOrNothing(field), message)
	}
	clear(f.Values)
}

// Objects takes a non-empty array with at most maximum objects.
func (f *Fields) Objects(field string, maximum int) (list []*Fields, given bool) {
	value, given := f.Take(field)
	if !given {
		return nil, false
	}
	var elements []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &elements) != nil {
		f.Problem(field, "must be an array of objects, got "+KindOf(value))
		return nil, false
	}
	if len(elements) == 0 || len(elements) > maximum {
		f.Problem(field, "must have 1 to "+strconv.Itoa(maximum)+" elements, got "+strconv.Itoa(len(elements)))
		return nil, false
	}
	for _, element := range elements {
		values, err := DecodeObject(element)
		if err != nil {
			f.Problem(field, "must contain only objects, got "+KindOf(element))
			return nil, false
		}
		list = append(list, &Fields{Values: values})
	}
	return list, true
}
