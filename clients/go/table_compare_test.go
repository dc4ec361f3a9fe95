package postern

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"time"
)

func (r *run) compareResult(i int, want map[string]any, got result) {
	place := fmt.Sprintf("result %d", i)
	if wantError, fails := want["error"]; fails {
		r.compare(place+"'s error", wantError, wireError(got.err))
	} else if got.err != nil {
		r.Errorf("%s: %v", place, got.err)
	}
	for _, kind := range []string{"value", "events", "items"} {
		value, expected := want[kind]
		if !expected {
			continue
		}
		if kind != got.kind {
			r.Errorf("%s: has %s, want %s", place, got.kind, kind)
		}
		r.compare(place, value, got.value)
	}
}

// compare reports differences between got and want, by the rules in testdata/clients/README.md.
func (r *run) compare(place string, want, got any) {
	r.Helper()
	switch w := want.(type) {
	case nil:
		if got != nil && !reflect.ValueOf(got).IsZero() && fmt.Sprint(got) != "[]" {
			r.Errorf("%s is %v, want nothing", place, got)
		}
	case map[string]any:
		r.compareObject(place, w, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(w) {
			r.Errorf("%s is %v, want %v", place, got, want)
			return
		}
		for i := range w {
			r.compare(fmt.Sprintf("%s[%d]", place, i), w[i], list[i])
		}
	default:
		if !equalScalar(want, got) {
			r.Errorf("%s is %v, want %v", place, got, want)
		}
	}
}

func (r *run) compareObject(place string, want map[string]any, got any) {
	r.Helper()
	if pattern, ok := want["match"].(string); ok && len(want) == 1 {
		if text, ok := got.(string); !ok || !regexp.MustCompile(pattern).MatchString(text) {
			r.Errorf("%s is %v, want %s", place, got, pattern)
		}
		return
	}
	members, ok := got.(map[string]any)
	if !ok {
		r.Errorf("%s is %v, want %v", place, got, want)
		return
	}
	for name, value := range want {
		r.compare(place+"."+name, value, members[name])
	}
}

// equalScalar compares strings, numbers and times. The same time may be written in several ways.
func equalScalar(want, got any) bool {
	if equalJSON(want, got) {
		return true
	}
	x, okX := want.(string)
	y, okY := got.(string)
	if !okX || !okY {
		return false
	}
	if len(x) == len(time.DateOnly) {
		x += "T00:00:00Z"
	}
	a, errA := time.Parse(time.RFC3339, x)
	b, errB := time.Parse(time.RFC3339, y)
	return errA == nil && errB == nil && a.Equal(b)
}

// wireError returns an error as the table writes it.
func wireError(err error) any {
	if err == nil {
		return nil
	}
	members := map[string]any{"class": reflect.TypeOf(err).Elem().Name(), "message": strings.TrimPrefix(err.Error(), "postern: ")}
	add := func(value any) {
		for name, member := range wire(value).(map[string]any) {
			if name != "message" { // the server's own text
				members[name] = member
			}
		}
	}
	var (
		api     *APIError
		stream  *StreamError
		output  *OutputValidationError
		invalid *InvalidResponseError
		limited *RateLimitError
		webhook *WebhookVerificationError
	)
	switch {
	case errors.As(err, &api):
		add(*api)
		members["headers"], members["text"] = members["header"], api.Message
	case errors.As(err, &stream):
		stream := *stream
		stream.Cause = nil
		add(stream)
		members["message"] = stream.Message
	case errors.As(err, &output):
		output := *output
		output.Cause = nil
		add(output)
	case errors.As(err, &invalid):
		add(*invalid)
	case errors.As(err, &webhook):
		add(*webhook)
	}
	if errors.As(err, &limited) && limited.RetryAfter != nil {
		members["retryAfterMs"] = float64(*limited.RetryAfter) / 1e6
	}
	members["status"] = members["statusCode"]
	return members
}

// wire returns a value of this package as JSON with the API's field names.
func wire[T any](value T) any { return wireValue(reflect.ValueOf(value)) }

func wireValue(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	switch value := v.Interface().(type) {
	case time.Time:
		if value.IsZero() {
			return nil
		}
		return value.Format(time.RFC3339Nano)
	case time.Duration:
		return value.Seconds()
	case json.RawMessage:
		var decoded any
		_ = json.Unmarshal(value, &decoded)
		return decoded
	case http.Header:
		members := map[string]any{}
		for name, values := range value {
			members[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		return members
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return wireValue(v.Elem())
	case reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			list = append(list, wireValue(v.Index(i)))
		}
		return list
	case reflect.Map:
		members := map[string]any{}
		for _, key := range v.MapKeys() {
			members[key.String()] = wireValue(v.MapIndex(key))
		}
		return members
	case reflect.Struct:
		return wireStruct(v)
	case reflect.String:
		return v.String()
	}
	return v.Interface()
}

func wireStruct(v reflect.Value) map[string]any {
	members := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case field.Anonymous:
			if embedded, ok := wireValue(v.Field(i)).(map[string]any); ok {
				for name, value := range embedded {
					if _, hidden := members[name]; !hidden {
						members[name] = value
					}
				}
			}
		case field.IsExported():
			members[wireName(field.Name)] = wireValue(v.Field(i))
		}
	}
	return members
}

// wireName converts a name to its form in the API: RequestID becomes requestId.
func wireName(name string) string {
	if rest, found := strings.CutSuffix(name, "ID"); found {
		name = rest + "Id"
	}
	return strings.ToLower(name[:1]) + name[1:]
}
