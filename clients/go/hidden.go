package postern

// hidden is a function that returns a value that may contain secrets. Package fmt prints the unexported fields of a
// struct without calling their methods, but it does not print the contents of a function.
type hidden[T any] func() T

// hide returns a hidden value.
func hide[T any](value T) hidden[T] { return func() T { return value } }
