package postern

// hidden is a function that returns a value with possible secrets. Package fmt prints unexported fields of structs
// without calling their methods, but it cannot print what a function returns.
type hidden[T any] func() T

// hide returns a hidden value.
func hide[T any](value T) hidden[T] { return func() T { return value } }
