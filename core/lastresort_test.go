package core

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/fault"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/abi/lastresort.json")

const lastResortFile = "../testdata/abi/lastresort.json"

// lastResort is the response from a host that cannot run the core. The request ID goes between the halves of the
// body.
type lastResort struct {
	Status  uint64            `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    [2]string         `json:"body"`
}

func lastResortOf(f fault.Fault) lastResort {
	r := lastResort{Status: f.Status(), Headers: map[string]string{}}
	for _, h := range exchange.ErrorHeaders {
		r.Headers[h.Name] = h.Value
	}
	r.Body[0], r.Body[1] = f.Halves()
	return r
}

// TestLastResortFile: the Workers contain copies of two rows of the fault table, which they use if their module does
// not run. The Workers' tests compare the copies with this file.
func TestLastResortFile(t *testing.T) {
	rows := map[string]lastResort{"internal": lastResortOf(fault.Internal), "unavailable": lastResortOf(fault.Unavailable)}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(rows); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(lastResortFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(lastResortFile); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s differs from the fault table (%v): run make generate", lastResortFile, err)
	}
}

// TestConfigureErrorsHaveALastResort: after an invalid message or catalog, the host still has an error response to
// send.
func TestConfigureErrorsHaveALastResort(t *testing.T) {
	var invalid abi.Writer
	(&abi.Config{Catalog: []byte("{")}).Encode(&invalid)
	for name, c := range map[string]struct {
		message []byte
		fault   fault.Fault
	}{
		"no message": {[]byte{0xff}, fault.Internal},
		"no catalog": {invalid.Buf, fault.Misconfigured},
	} {
		_, out := Configure(c.message)
		got, err := abi.DecodeConfigured(out[Headroom:])
		if err != nil || got.Error == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		before, after := c.fault.Halves()
		if got.LastResortStatus != c.fault.Status() || string(got.LastResortBody[0])+string(got.LastResortBody[1]) != before+after {
			t.Errorf("%s: got the last resort %d %q, want %+v", name, got.LastResortStatus, got.LastResortBody, c.fault.Code())
		}
	}
}
