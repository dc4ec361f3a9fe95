package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version string

// buildVersion returns the version that the build has set. If there is none, it returns the module's version or the
// commit.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "commit " + s.Value
		}
	}
	return "devel"
}

// versionView is the output of version --json.
type versionView struct {
	Version  string `json:"version"`
	ABI      uint64 `json:"coreAbi"`
	Catalog  string `json:"catalog"` // date of the price list
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the program, the core's interface and the catalog", Example: "  postern version --json", Args: exactly(0, ""),
		RunE: func(*cobra.Command, []string) error {
			v := versionView{Version: buildVersion(), ABI: abi.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			var parsed struct{ Version string }
			if err := json.Unmarshal(catalog.JSON, &parsed); err != nil {
				return err
			}
			v.Catalog = parsed.Version
			if p.json {
				return p.printJSON(v)
			}
			fmt.Fprintf(p.out, "postern %s\ncore ABI %d\ncatalog %s\nbuilt with %s for %s\n", v.Version, v.ABI, v.Catalog, v.Go, v.Platform)
			return nil
		},
	}
}
