package usage

// What the tests use.
const (
	ExportRows    = exportRows
	MaxExportDays = maxExportDays
)
