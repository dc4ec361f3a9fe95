package compliance_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/compliance/verify"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// A checkpoint covers the end of a new project's first export, so the export can be verified at once.
func TestExportOfNewProjectVerifiesOffline(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	kept := &controltest.Exports{Files: map[string]string{}}
	e.Configure(func(c *kernel.Config) { c.Exports = kept.Put })
	e.Violate(e.path, ledger.Violation{Rule: "secret.github-token", Severity: "critical"})
	key := e.publicKey()
	for kind, last := range map[string]int{compliance.Audit: 1, compliance.Violations: 1, compliance.Policies: 1} {
		pages := e.export("type=" + kind)
		want := fmt.Sprintf("Entries 1 to %d ", last)
		if code, output := e.verified(pages, "-key", key); code != verify.Valid || !strings.Contains(output, want) || !strings.Contains(output, "covers them all") {
			t.Errorf("%s: %d %s", kind, code, output)
		}
	}
	if len(kept.Files) != 2 {
		t.Errorf("%d checkpoints are in the bucket, want one of each chain", len(kept.Files))
	}
	got := e.Must(200, "GET", e.path+"/compliance/checkpoints", "")
	if found := got.Fields["checkpoints"].([]any); len(found) != 2 || found[0].(map[string]any)["reason"] != "export" {
		t.Error(got.Body)
	}
	if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["complete"] != true || got.Fields["checkpoints"] != json.Number("2") {
		t.Error(got.Body)
	}
}

// Exports make at most one checkpoint per chain per minute. If a checkpoint fails, the export still succeeds.
func TestCheckpointsOfExportsAreLimited(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	kept := &controltest.Exports{Files: map[string]string{}}
	e.Configure(func(c *kernel.Config) { c.Exports = kept.Put })
	count := func() int {
		return len(e.Must(200, "GET", e.path+"/compliance/checkpoints", "").Fields["checkpoints"].([]any))
	}
	key := e.publicKey()
	for _, step := range []struct {
		after  time.Duration
		fails  bool
		events int
		want   int
		output string
	}{
		{0, true, 0, 0, "no checkpoint covers any"},
		{0, false, 0, 1, "covers them all"},
		{time.Hour, false, 0, 1, "covers them all"}, // the chain has not grown
		{0, false, 1, 2, "covers them all"},
		{30 * time.Second, false, 1, 2, "cover them up to entry 2; later ones are not signed yet"},
		{30 * time.Second, false, 0, 3, "covers them all"},
	} {
		e.Now = e.Now.Add(step.after)
		e.events(step.events)
		kept.Fail = func(string) error {
			if step.fails {
				return controltest.ErrOut
			}
			return nil
		}
		_, output := e.verified(e.export("type=audit"), "-key", key)
		if n := count(); n != step.want || !strings.Contains(output, step.output) {
			t.Errorf("%+v: %d checkpoints, %s", step, n, output)
		}
	}
}

// Concurrent exports all succeed, and each has a checkpoint of the last entry. A project key may request them, too.
func TestExportsAtTheSameTimeAreSigned(t *testing.T) {
	controltest.Quiet(t)
	b := controltest.NewKeyBench(t)
	b.Configure(func(c *kernel.Config) {
		c.SigningKeys = func() string { return base64.StdEncoding.EncodeToString(make([]byte, 32)) }
	})
	_, value := b.NewKey(`"kind":"project"`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got := b.With(value, "GET", "/api/compliance/export?type=audit", "")
			if got.Code != 200 || !strings.Contains(got.Body.String(), `"reason":"export"`) {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
	all.Wait()
	got := b.With(value, "GET", "/api/compliance/checkpoints", "")
	if n := strings.Count(got.Body.String(), `"signature"`); n < 1 {
		t.Errorf("no checkpoint is stored: %s", got.Body)
	}
}

// A changed byte is detected wherever it is: in headers, in entries, and in lines that are not part of a chain.
func TestOfflineVerifierFindsEveryChangedByte(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(1)
	e.Violate(e.path, ledger.Violation{Rule: "personal.email", Category: "personal", Severity: "low", Excerpt: "om"})
	public, err := compliance.ParsePublicKey(e.publicKey())
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		_, err := compliance.Verify(&compliance.Input{
			Files: []compliance.File{{Name: "f", Data: strings.NewReader(text)}}, Keys: []compliance.PublicKey{public}, Partial: true,
		})
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, query := range []string{"audit", "audit&limit=1", "violations", "policies", "access", "usage", "audit&from=2026-01-01"} {
		text := strings.Join(e.export("type="+query), "")
		if err := valid(text); err != nil {
			t.Fatalf("%s: unchanged: %v", query, err)
		}
		for i := range len(text) {
			changed := []byte(text)
			changed[i] ^= []byte{1, 0x20, byte(random.IntN(255) + 1)}[random.IntN(3)]
			if valid(string(changed)) == nil {
				t.Errorf("%s: byte %d: %q for %q is accepted near %s", query, i, changed[i], text[i], text[max(0, i-20):min(len(text), i+20)])
			}
		}
	}
}
