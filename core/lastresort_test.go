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

var update = flag.Bool("update", false, "write testdata/abi/lastresort.json anew")

const lastResortFile = "../testdata/abi/lastresort.json"

// resort is an answer of a host that has no core to ask: the request id belongs between the halves of the body.
type resort struct {
	Status  uint64            `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    [2]string         `json:"body"`
}

func resortOf(f fault.Fault) resort {
	r := resort{Status: f.Status, Headers: map[string]string{}}
	for _, h := range exchange.ErrorHeaders {
		r.Headers[h.Name] = h.Value
	}
	r.Body[0], r.Body[1] = f.Halves()
	return r
}

// TestLastResortFile: the Workers have copies of two rows of the fault table, for when their module does not run.
// Their own tests compare the copies with this file.
func TestLastResortFile(t *testing.T) {
	rows := map[string]resort{"internal": resortOf(fault.Internal), "unavailable": resortOf(fault.Unavailable)}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(rows); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(lastResortFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(lastResortFile); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the fault table says (%v): run go test ./core -run LastResort -update", lastResortFile, err)
	}
}

// TestConfiguredWhateverIsGiven: also of a message that is none, and of a catalog that is none, a host learns what
// to answer.
func TestConfiguredWhateverIsGiven(t *testing.T) {
	var wrong abi.Writer
	(&abi.Config{Catalog: []byte("{")}).Encode(&wrong)
	for name, c := range map[string]struct {
		message []byte
		last    fault.Fault
	}{
		"no message": {[]byte{0xff}, fault.Internal},
		"no catalog": {wrong.Buf, fault.Misconfigured},
	} {
		_, out := Configure(c.message)
		got, err := abi.DecodeConfigured(out[Headroom:])
		if err != nil || got.Error == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		before, after := c.last.Halves()
		if got.LastResortStatus != c.last.Status || string(got.LastResortBody[0])+string(got.LastResortBody[1]) != before+after {
			t.Errorf("%s: answer %d %q, want %+v", name, got.LastResortStatus, got.LastResortBody, c.last)
		}
	}
}
