package kernel

// Documents of the Directory that more than one package knows by the prefix of their keys.
const (
	// CheckpointPrefix begins the keys of compliance checkpoints; a project's ID follows.
	CheckpointPrefix = "cp/"
	// ExportKey begins the keys of the documents with the last exported day; a project's ID follows.
	ExportKey = "e/"
)
