package api

type Listed struct {
	Name    string
	OwnedBy string // the provider's name; a tier's is postern
}

// ModelList is the format of a list of models.
type ModelList struct {
	Start, End string // JSON around the entries
	// Entry appends one entry, which is also the response to GET /v1/models/{model}.
	Entry func(dst []byte, m *Listed) []byte
}

// The creation date of every model. The formats require one, and the catalog has none.
const (
	ModelsCreated     = "2026-01-01T00:00:00Z"
	ModelsCreatedUnix = 1767225600 // the same in seconds
)

// Append appends the response to GET /v1/models.
func (l *ModelList) Append(dst []byte, list []Listed) []byte {
	dst = append(dst, l.Start...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = l.Entry(dst, &list[i])
	}
	return append(dst, l.End...)
}
