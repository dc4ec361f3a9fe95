// Package pretty replaces github.com/tidwall/pretty in core.wasm. It returns every text unchanged. gjson imports the
// original for two path modifiers, @pretty and @ugly, which the core does not use. The original imports
// encoding/json, and therefore fmt and reflect.
package pretty

// Options has the fields that gjson sets. They have no effect.
type Options struct {
	Width    int
	Prefix   string
	Indent   string
	SortKeys bool
}

// DefaultOptions are the options that gjson starts with.
var DefaultOptions = &Options{}

// Pretty returns json.
func Pretty(json []byte) []byte { return json }

// PrettyOptions returns json.
func PrettyOptions(json []byte, _ *Options) []byte { return json }

// Ugly returns json.
func Ugly(json []byte) []byte { return json }
