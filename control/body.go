package control

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

// maxBody is the maximum size of a request body in bytes.
const maxBody = 64 << 10

// maxUnknown is the maximum number of unknown fields or parameters that a 400 lists.
const maxUnknown = 20

// readFields reads a request body, which must be one JSON object. The error is a 415, 413 or 400.
func readFields(r *http.Request) (*fields, error) { return readFieldsUpTo(r, maxBody) }

// readFieldsUpTo is readFields for a body of another maximum size in bytes.
func readFieldsUpTo(r *http.Request, maximum int) (*fields, error) {
	if err := checkBodyHead(r.Header); err != nil {
		return nil, err
	}
	body, err := readBody(r.Body, maximum)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return nil, invalid(fault.Detail{Field: "body", Message: "is required"})
	}
	if problem := jsontext.Check(body); problem != jsontext.OK {
		return nil, invalid(fault.Detail{Field: "body", Message: problem.String()})
	}
	values, err := decodeObject(body)
	if err != nil {
		return nil, invalid(fault.Detail{Field: "body", Message: "must be a JSON object, got " + kindOf(body)})
	}
	return &fields{values: values}, nil
}

// checkBodyHead checks the headers that describe a body.
func checkBodyHead(header http.Header) error {
	contentType := headerValue(header, "Content-Type")
	if contentType == "" {
		return refuse(fault.UnsupportedType, "Content-Type", "is required; send application/json")
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
		return refuse(fault.UnsupportedType, "Content-Type", "must be application/json"+got(contentType))
	}
	if encoding := headerValue(header, "Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return refuse(fault.UnsupportedType, "Content-Encoding", "must be identity"+got(encoding)+"; send the body uncompressed")
	}
	return nil
}

func readBody(body io.Reader, maximum int) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(body, int64(maximum)+1))
	if err != nil {
		return nil, invalid(fault.Detail{Field: "body", Message: "could not be read completely; send the request again"})
	}
	if len(data) > maximum {
		return nil, tooLarge(maximum)
	}
	return data, nil
}

// decodeObject splits a checked JSON object into its fields without decoding their values. Names are
// case-sensitive, unlike when decoding into a struct: encoding/json would accept "Name" for "name".
func decodeObject(body []byte) (values map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(body, &values); err == nil && values == nil {
		err = errors.New("null")
	}
	return values, err
}

// fields are the values of a body. The getters remove the fields that they read and collect problems; err
// reports all problems at once.
type fields struct {
	values   map[string]json.RawMessage
	known    []string // the fields that the getters have read, present or not
	problems []fault.Detail
}

func (f *fields) problem(field, message string) {
	f.problems = append(f.problems, fault.Detail{Field: field, Message: message})
}

// take removes and returns a value; ok is false if it is absent.
func (f *fields) take(field string) (value json.RawMessage, ok bool) {
	value, ok = f.values[field]
	delete(f.values, field)
	f.known = append(f.known, field)
	return value, ok
}

// fixed reports a field that this request cannot set.
func (f *fields) fixed(field, reason string) {
	if _, ok := f.values[field]; ok {
		delete(f.values, field)
		f.problem(field, reason)
	}
}

// text takes a JSON string. A value of another type is not repeated: it may be a secret.
func (f *fields) text(field, fallback string) (text string, given bool) {
	value, given := f.take(field)
	if !given {
		return fallback, false
	}
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		f.problem(field, "must be a string, got "+kindOf(value))
		return fallback, false
	}
	return text, true
}

// number takes a JSON number, in the digits that the caller sent. expectation is the message for other types.
func (f *fields) number(field, expectation string) (digits string, given bool) {
	value, given := f.take(field)
	if !given {
		return "", false
	}
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		f.problem(field, expectation+gotJSON(value))
		return "", false
	}
	return string(value), true
}

// boolean takes true or false.
func (f *fields) boolean(field string) (value, given bool) {
	word, given := f.take(field)
	if !given {
		return false, false
	}
	value = string(word) == "true"
	if !value && string(word) != "false" {
		f.problem(field, "must be true or false"+gotJSON(word))
		return false, false
	}
	return value, true
}

// err is the 400 for all problems, unknown fields included, or nil.
func (f *fields) err() error {
	f.rejectRest("is unknown; the fields are " + allOf(f.known))
	if len(f.problems) == 0 {
		return nil
	}
	return invalid(f.problems...)
}

// rejectRest reports the fields that no getter has read.
func (f *fields) rejectRest(message string) {
	for i, field := range slices.Sorted(maps.Keys(f.values)) {
		if i == maxUnknown {
			break
		}
		f.problem(nameOrNothing(field), message)
	}
	clear(f.values)
}

// objects takes a non-empty array with a limited number of objects.
func (f *fields) objects(field string, maximum int) (list []*fields, given bool) {
	value, given := f.take(field)
	if !given {
		return nil, false
	}
	var elements []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &elements) != nil {
		f.problem(field, "must be an array of objects, got "+kindOf(value))
		return nil, false
	}
	if len(elements) == 0 || len(elements) > maximum {
		f.problem(field, "must have 1 to "+strconv.Itoa(maximum)+" elements, got "+strconv.Itoa(len(elements)))
		return nil, false
	}
	for _, element := range elements {
		values, err := decodeObject(element)
		if err != nil {
			f.problem(field, "must contain only objects, got "+kindOf(element))
			return nil, false
		}
		list = append(list, &fields{values: values})
	}
	return list, true
}
