package postern

import (
	"context"
	"encoding/json"
	"time"
)

// members are the fields of a JSON object.
type members map[string]any

// given returns m without the fields that are nil.
func (m members) given() members {
	for name, value := range m {
		if value == nil {
			delete(m, name)
		}
	}
	return m
}

// null is the JSON value that clears a field.
var null = json.RawMessage("null")

func present[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// changed returns the value that a pointer refers to. It returns nil for a nil pointer, and null for a pointer to a
// zero value.
func changed[T comparable](value *T) any {
	var zero T
	switch {
	case value == nil:
		return nil
	case *value == zero:
		return null
	}
	return *value
}

// changedTime is like changed, for times.
func changedTime(value *time.Time) any {
	if value == nil {
		return nil
	}
	return changed(Ptr(timestamp(*value)))
}

// listed returns items, or nil if the slice is nil.
func listed(items []string) any {
	if items == nil {
		return nil
	}
	return items
}

func send[T any](ctx context.Context, c *Client, method, prefix, id, suffix string, change any, opts []CallOption) (*T, error) {
	path, err := pathOf(prefix, id, suffix)
	if err != nil {
		return nil, err
	}
	r, err := withBody(request{method: method, path: path, change: true}, change)
	if err != nil {
		return nil, err
	}
	value, _, err := fetch[T](ctx, c, r, opts)
	return value, err
}
