package registry

// Internals that the tests use.
const (
	Delivered      = delivered
	MaxEntries     = maxEntries
	MaxEntryTexts  = maxEntryTexts
	MaxReasonRunes = maxReasonRunes
	Pending        = pending
	Path           = registryPath
)
