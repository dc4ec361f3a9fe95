package compliance

// Internals that the tests use.
const (
	BOMContentType = bomContentType
	VerifyEntries  = verifyEntries
)
