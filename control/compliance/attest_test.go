package compliance_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/compliance/verify"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/test/controltest"
)

func (e *evidence) otherKey() string {
	e.Helper()
	keys, err := compliance.ParseSigningKeys(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
	if err != nil {
		e.Fatal(err)
	}
	return keys[0].Public().String()
}

// checkpointLine returns the newest checkpoint of the Directory's chain.
func (e *evidence) checkpointLine() string {
	e.Helper()
	got := e.Must(200, "GET", e.path+"/compliance/checkpoints?object=directory&limit=1", "")
	text, err := json.Marshal(got.Fields["checkpoints"].([]any)[0])
	if err != nil {
		e.Fatal(err)
	}
	return string(text)
}

// Entries may be missing at the start of a chain only if a checkpoint says that they were pruned.
func TestPrunedChain(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(5)
	e.use(0)
	e.daily()
	e.Now = e.Now.AddDate(0, 0, 300)
	e.events(2)
	e.Now = e.Now.AddDate(0, 0, 150)
	e.daily()
	whole := strings.Join(e.export("type=audit"), "")
	if !strings.Contains(whole, `"first":7,"last":8`) || strings.Contains(whole, `"seq":1,"time"`) {
		t.Fatalf("not pruned: %s", whole)
	}
	key := e.publicKey()
	if code, output := e.verified([]string{whole}, "-key", key); code != verify.Valid {
		t.Error(output)
	}
	if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["ok"] != true || got.Fields["complete"] != true {
		t.Error(got.Body)
	}
	code, output := e.verified([]string{strings.Replace(whole, `"reason":"prune"`, `"reason":"daily"`, 1)}, "-key", key)
	if code != verify.Broken {
		t.Errorf("re-labeled: %d %s", code, output)
	}
	code, output = e.verified([]string{e.withoutCheckpoints(whole)}, "-key", key, "-checkpoint", e.file(e.checkpointLine()))
	if code != verify.Broken || !strings.Contains(output, "entries 1 to 6 are missing at the start") {
		t.Errorf("without the checkpoint of the pruning: %d %s", code, output)
	}
}

// A checkpoint is published to the log, the bucket and the webhook. After that, it is stored. A chain that has not
// grown gets no checkpoint.
func TestCheckpointsArePublished(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	kept := &controltest.Exports{Files: map[string]string{}}
	e.Configure(func(c *kernel.Config) { c.Exports = kept.Put })
	e.Must(200, "PATCH", e.path, `{"alerts":{"url":"https://alerts.example/hook"}}`)
	e.daily()
	name := "checkpoints/2026-11-22/" + e.id + ".directory." + abi.Fixed(2) + ".daily.json"
	if line := strings.TrimSpace(kept.Files[name]); line == "" || line != e.compact(e.checkpointLine()) {
		t.Errorf("exported %q, stored %s", kept.Files, e.checkpointLine())
	}
	posts := e.Memory.Object(abi.ClassLedger, e.id).Posts
	if len(posts) != 1 || !strings.Contains(string(posts[0].Body), `"type":"compliance.checkpoint"`) || !strings.Contains(string(posts[0].Body), `"seq":2`) {
		t.Errorf("%d posts", len(posts))
	}
	e.daily()
	if got := e.Must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.Fields["checkpoints"].([]any)) != 1 {
		t.Error(got.Body)
	}
	kept.Fail = func(string) error { return controltest.ErrOut }
	e.events(1)
	e.Now = e.Now.AddDate(0, 0, 1)
	if err := e.Hourly(); err == nil {
		t.Error("a checkpoint that could not be published is acknowledged")
	}
	if got := e.Must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.Fields["checkpoints"].([]any)) != 1 {
		t.Error(got.Body)
	}
	kept.Fail = nil
	if err := e.Hourly(); err != nil {
		t.Error(err)
	}
	if got := e.Must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.Fields["checkpoints"].([]any)) != 2 {
		t.Error(got.Body)
	}
}

func (e *evidence) compact(text string) string {
	e.Helper()
	var c compliance.Checkpoint
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		e.Fatal(err)
	}
	line, _ := kernel.Encode(c)
	return string(line)
}

// If the signing key is missing or malformed, the chains still work, and the summary says that nothing is signed.
func TestWithoutSigningKey(t *testing.T) {
	controltest.Quiet(t)
	for _, signing := range []string{"", "not base64", base64.StdEncoding.EncodeToString(make([]byte, 31))} {
		e := newEvidence(t)
		e.signing = signing
		e.events(1)
		e.daily()
		got := e.Must(200, "GET", e.path+"/compliance/summary", "")
		if s := got.Fields["signing"].(map[string]any); s["configured"] != false || len(s["publicKeys"].([]any)) != 0 {
			t.Errorf("%q: %s", signing, got.Body)
		}
		if got := e.Must(200, "GET", e.path+"/compliance/checkpoints", ""); len(got.Fields["checkpoints"].([]any)) != 0 {
			t.Error(got.Body)
		}
		if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["complete"] != true {
			t.Error(got.Body)
		}
		text := e.export("type=audit")
		if code, _ := e.verified(text, "-unsigned"); code != verify.Valid {
			t.Error("the hashes do not verify")
		}
	}
}

// After the signing key is replaced, the old key still verifies older checkpoints. For that, it must remain
// configured.
func TestChangeOfSigningKeys(t *testing.T) {
	controltest.Quiet(t)
	e := newEvidence(t)
	e.events(1)
	e.daily()
	e.signing = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))) + "," + e.signing
	e.events(1)
	e.daily()
	if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["complete"] != true || got.Fields["checkpoints"] != json.Number("2") {
		t.Error(got.Body)
	}
	if code, output := e.verified(e.export("type=audit"), "-key", e.publicKey()); code != 0 {
		t.Error(output)
	}
	e.signing, _, _ = strings.Cut(e.signing, ",")
	if got := e.Must(200, "GET", e.path+"/compliance/verify", ""); got.Fields["ok"] != false {
		t.Error(got.Body)
	}
}
