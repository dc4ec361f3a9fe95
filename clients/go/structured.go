package postern

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// JSONCompletion is a completion whose text was parsed.
type JSONCompletion[T any] struct {
	Completion
	Data T // zero if there are ToolCalls and Text is empty
}

// Validator is implemented by types that validate themselves after parsing; see CompleteJSON.
type Validator interface{ Validate() error }

// CompleteJSON returns a completion in mode json, with its text parsed into Data. Fields in the text that T does not
// have are ignored. The text must have the fields of T and of the structs within T, except pointers and fields with
// omitempty or omitzero. Only pointers and interfaces may be null. If T or *T is a Validator, Validate checks Data.
// If the text is not JSON, does not fit T or fails Validate, the error is an *OutputValidationError, which includes
// the completion. Such a completion is charged. Other errors are those of Complete.
//
// A completion with tool calls and an empty text has nothing to parse. Data is zero, and there is no error.
//
// If T is a struct and there is no ResponseSchema, the schema of T is sent, so that the gateway validates the output
// too; see SchemaOf. For other types, describe the JSON that you want in a message.
func CompleteJSON[T any](ctx context.Context, client *Client, params CompletionParams, opts ...CallOption) (*JSONCompletion[T], error) {
	if err := client.check(ctx); err != nil {
		return nil, err
	}
	completion, err := client.AI.Complete(ctx, inJSONMode[T](params), opts...)
	if err != nil {
		return nil, err
	}
	return parsed[T](completion)
}

// inJSONMode returns params for an output of type T.
func inJSONMode[T any](params CompletionParams) CompletionParams {
	params.Mode = ModeJSON
	if params.ResponseSchema == nil {
		params.ResponseSchema = responseSchemaOf(reflect.TypeFor[T]())
	}
	return params
}

// parsed returns the completion with its text parsed, or an *OutputValidationError.
func parsed[T any](completion *Completion) (*JSONCompletion[T], error) {
	result := &JSONCompletion[T]{Completion: *completion}
	if completion.Text == "" && len(completion.ToolCalls) > 0 {
		return result, nil // the gateway does not check it against the schema either
	}
	if err := parse(completion.Text, &result.Data); err != nil {
		return nil, &OutputValidationError{Issues: issuesOf(err), Text: completion.Text, Completion: completion, Cause: err}
	}
	return result, nil
}

// parse reads one JSON value into value, a pointer, and validates it.
func parse(text string, value any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(value); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("text after the JSON value")
	}
	var members any
	_ = json.Unmarshal([]byte(text), &members) // it was parsed above
	if missing := absent(reflect.TypeOf(value).Elem(), members); missing != nil {
		return missing
	}
	if v, ok := value.(Validator); ok { // the methods of *T include those of T
		return v.Validate()
	}
	return nil
}

// issuesOf describes an error of encoding/json. It leaves out the error's text, which can contain parts of the
// output.
func issuesOf(err error) []Issue {
	var (
		syntax  *json.SyntaxError
		mistype *json.UnmarshalTypeError
		missing *missingMember
	)
	switch {
	case errors.As(err, &missing):
		return []Issue{{Path: missing.path, Message: missing.problem}}
	case errors.As(err, &mistype):
		return []Issue{{Path: mistype.Field, Message: "must be a " + mistype.Type.String() + ", got a " + mistype.Value}}
	case errors.As(err, &syntax), err == io.EOF, err == io.ErrUnexpectedEOF:
		return []Issue{{Message: "is not JSON"}}
	}
	return []Issue{{Message: err.Error()}}
}
