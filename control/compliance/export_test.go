package compliance

// What the tests use.
const (
	BOMContentType = bomContentType
	VerifyEntries  = verifyEntries
)
