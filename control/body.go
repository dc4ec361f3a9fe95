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

// maxBody is how many bytes a request's body may have.
const maxBody = 64 << 10

// maxUnknown is how many unknown fields a 400 lists.
const maxUnknown = 20

// readFields reads a request's body, which must be one JSON object, or refuses with 415, 413 or 400.
func readFields(r *http.Request) (*fields, error) {
	mediaType, _, err := mime.ParseMediaType(strings.Join(r.Header.Values("Content-Type"), ","))
	if err != nil || mediaType != "application/json" {
		return nil, errMediaType
	}
	body, err := readBody(r.Body)
	if err != nil {
		return nil, err
	}
	if problem := jsontext.Check(body); problem != jsontext.OK {
		return nil, invalid(fault.Detail{Field: "body", Message: problem.String()})
	}
	values, err := decodeObject(body)
	if err != nil {
		return nil, invalid(fault.Detail{Field: "body", Message: "must be a JSON object"})
	}
	return &fields{values: values}, nil
}

func readBody(body io.Reader) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil {
		return nil, invalid(fault.Detail{Field: "body", Message: "broke off"})
	}
	if len(data) > maxBody {
		return nil, errTooLarge
	}
	return data, nil
}

// decodeObject takes a checked JSON object apart, but not its values. Unlike with a struct, names count as
// they are written: encoding/json would take "Name" for "name".
func decodeObject(body []byte) (values map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(body, &values); err == nil && values == nil {
		err = errors.New("null")
	}
	return values, err
}

// fields are a body's values. The takers remove what they know and note what is wrong with it; refused
// says all of it at once.
type fields struct {
	values   map[string]json.RawMessage
	problems []fault.Detail
}

func (f *fields) wrong(field, message string) {
	f.problems = append(f.problems, fault.Detail{Field: field, Message: message})
}

// take removes a value. Without one, ok is false.
func (f *fields) take(field string) (value json.RawMessage, ok bool) {
	value, ok = f.values[field]
	delete(f.values, field)
	return value, ok
}

// text takes a JSON string; anything else is wrong.
func (f *fields) text(field, otherwise string) (text string, given bool) {
	value, given := f.take(field)
	if !given {
		return otherwise, false
	}
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		f.wrong(field, "must be text")
		return otherwise, false
	}
	return text, true
}

// number takes a JSON number, in the digits that the caller sent.
func (f *fields) number(field string) (digits string, given bool) {
	value, given := f.take(field)
	if !given {
		return "", false
	}
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		f.wrong(field, "must be a number, such as 1234.5")
		return "", false
	}
	return string(value), true
}

// truth takes true or false.
func (f *fields) truth(field string) (value, given bool) {
	word, given := f.take(field)
	if !given {
		return false, false
	}
	value = string(word) == "true"
	if !value && string(word) != "false" {
		f.wrong(field, "must be true or false")
		return false, false
	}
	return value, true
}

// refused is the 400 for all that is wrong, what nobody took included, or nil.
func (f *fields) refused() error {
	for i, field := range slices.Sorted(maps.Keys(f.values)) {
		if i == maxUnknown {
			break
		}
		if len(field) > maxIDLength {
			field = "" // not worth an echo
		}
		f.wrong(field, "is not a field that can be set here")
	}
	if len(f.problems) == 0 {
		return nil
	}
	return invalid(f.problems...)
}

// objects takes a field that is a list of at most so many objects.
func (f *fields) objects(field string, most int) (list []*fields, given bool) {
	value, given := f.take(field)
	if !given {
		return nil, false
	}
	var elements []json.RawMessage
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &elements) != nil || len(elements) > most {
		f.wrong(field, "must be a list of at most "+strconv.Itoa(most)+" objects")
		return nil, false
	}
	for _, element := range elements {
		values, err := decodeObject(element)
		if err != nil {
			f.wrong(field, "must be a list of objects")
			return nil, false
		}
		list = append(list, &fields{values: values})
	}
	return list, true
}
