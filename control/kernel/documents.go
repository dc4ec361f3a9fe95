package kernel

// Key prefixes of Directory documents that more than one package uses.
const (
	// CheckpointPrefix precedes the project's ID in the keys of compliance checkpoints.
	CheckpointPrefix = "cp/"
	// CreditsPrefix precedes the ID of a group, a project or a key in the keys of documents with its top-ups.
	CreditsPrefix = "cr/"
	// ExportKey precedes the project's ID in the keys of documents that record the last exported day.
	ExportKey = "e/"
)
