package postern

// Ptr returns a pointer to v. In parameters and settings, a zero value means absent. If zero has a meaning of its
// own, the field is a pointer, as in Temperature: postern.Ptr(0.0).
func Ptr[T any](v T) *T { return &v }
