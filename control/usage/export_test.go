package usage

// Internals that the tests use.
const (
	ExportRows    = exportRows
	MaxExportDays = maxExportDays
)
