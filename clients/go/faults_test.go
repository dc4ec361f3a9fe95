package postern

import (
	"encoding/json"
	"os"
	"testing"
)

// TestRetriesEveryFault compares the decision to retry with the gateway's error table.
func TestRetriesEveryFault(t *testing.T) {
	text, err := os.ReadFile("../../testdata/faults.json")
	if err != nil {
		t.Fatal(err)
	}
	var faults []struct {
		Code, Place, Retry string
		Status             int
	}
	if err := json.Unmarshal(text, &faults); err != nil || len(faults) == 0 {
		t.Fatal(len(faults), err)
	}
	blocked := false
	for _, f := range faults {
		if blocked = blocked || f.Code == codeBlocked && f.Status == 422; f.Place == "admin" || f.Place == "log" {
			continue
		}
		var advice []string
		if f.Retry == "never" {
			advice = []string{"x-should-retry", "false"}
		}
		if got, want := isRetryable(statusError(f.Status, advice...), true), f.Retry == "yes"; got != want {
			t.Errorf("%d %s is retried: %t, want %t", f.Status, f.Code, got, want)
		}
	}
	if !blocked {
		t.Errorf("the error table lacks 422 %s", codeBlocked)
	}
}
